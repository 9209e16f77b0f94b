import { describe, expect, test } from 'vitest'
import { digestOf, image, node, repository } from '../../../test/kit/images/cluster.ts'
import { configSchema } from '../../config/schema.ts'
import type { PrepullRecords, PullFailure } from '../../store/prepulls.ts'
import type { CatalogueImage } from '../catalogue/types.ts'
import {
  decidePrepull,
  imageKey,
  type PrepullDecision,
  type PrepullRules,
  type PrepullWorld,
  recordsAfterRefusal,
  standings,
} from './decide.ts'
import type { NodeFacts } from './nodes.ts'
import { type PullPod, type PullSet, pullReference, pullSetName } from './pull-set.ts'

const config = configSchema.parse({ installation: 'north' })
const rules: PrepullRules = {
  installation: config.installation,
  placement: config.lab,
  timeoutMs: 60_000,
  retryMs: 1000,
  maxRetryMs: 5000,
  maxAtOnce: 2,
}
const nowMs = 1_000_000
const none: PrepullRecords = { prepulled: new Map(), failures: new Map() }
const weekly = image('w_2026_01')
const key = imageKey(weekly)
const one = node('one')
const two = node('two')

const worldOf = (more: Partial<PrepullWorld> = {}): PrepullWorld => ({
  ...{ nodes: [one], sets: [], pods: [], records: none, nowMs },
  ...more,
})
const decide = (more?: Partial<PrepullWorld>, images: readonly CatalogueImage[] = [weekly]) =>
  decidePrepull(images, worldOf(more), rules)

const setOf = (nodes: readonly string[], more: Partial<PullSet> = {}, what = weekly): PullSet => ({
  name: pullSetName(config.installation, what),
  ...{ uid: 'set-1', resourceVersion: '1', deleting: false, image: pullReference(what), begunMs: nowMs - 1000, nodes },
  ...more,
})
const podOf = (on: string, state: PullPod['state'], more: Partial<PullPod> = {}): PullPod => ({
  ...{ set: setOf([]).name, setUid: 'set-1', node: on, createdMs: 0, state, message: '' },
  ...more,
})
const failureOf = (more: Partial<PullFailure> = {}): PullFailure => ({
  ...{ attempts: 1, nextMs: nowMs + 500, error: 'no', nodes: ['uid-one'], set: 'set-0' },
  ...more,
})
const withFailure = (failure: PullFailure): PrepullRecords => ({ ...none, failures: new Map([[key, failure]]) })
const withPulled = (uids: Record<string, boolean>): PrepullRecords => ({
  ...none,
  prepulled: new Map([[key, new Map(Object.entries(uids))]]),
})

/** What is done, in short. */
const acts = ({ create, extend, remove }: PrepullDecision) => [
  ...create.map(({ image, nodes }) => `create ${image.tag}: ${nodes.join(' ')}`),
  ...extend.map(({ image, nodes }) => `extend ${image.tag}: ${nodes.join(' ')}`),
  ...remove.map(({ set, why }) => `remove ${set.image.replace(/^.*:(.*)@.*$/, '$1')}: ${why}`),
]

describe('which nodes have an image', () => {
  const name = `${repository}@${digestOf('a')}`
  const isMissing = (facts: NodeFacts, records = none, what = weekly) =>
    standings([what], worldOf({ nodes: [facts], records }), rules)[0]!.missing.length === 1

  test.each([
    ['its digest', [name, `${repository}:w_2026_01`], false],
    ['its digest under another tag', [`${repository}:x`, name], false],
    ['its tag with another digest', [`${repository}@${digestOf('b')}`, `${repository}:w_2026_01`], true],
    ['its digest in another repository', [`elsewhere/lab@${digestOf('a')}`], true],
    ['nothing', [], true],
  ])('that lists %s', (_, names, missing) => {
    expect(isMissing(node('one', { images: [['other:1'], names] }))).toBe(missing)
  })

  test('without a known digest the tag counts', () => {
    const unknown = image('w_2026_01', null)
    expect(isMissing(node('one', { images: [[`${repository}:w_2026_01`]] }), none, unknown)).toBe(false)
    expect(isMissing(node('one', { images: [[name]] }), none, unknown)).toBe(true)
  })

  test('a name of Docker Hub may leave the host out', () => {
    const hub = { ...weekly, reference: 'docker.io/some/lab:x' }
    expect(isMissing(node('one', { images: [[`some/lab@${digestOf('a')}`]] }), none, hub)).toBe(false)
  })

  test('a completed pull counts for that very node, though it does not list the image', () => {
    expect(isMissing(one, withPulled({ 'uid-one': false }))).toBe(false)
    expect(isMissing(node('one', { uid: 'reborn' }), withPulled({ 'uid-one': false }))).toBe(true)
    expect(isMissing(one, withPulled({ 'uid-one': false }), image('w_2026_01', 'b'))).toBe(true)
  })

  test('two tags of one digest are one image', () => {
    expect(standings([weekly, image('recommended')], worldOf(), rules).map(each => each.image.tag)).toEqual([
      'w_2026_01',
    ])
  })
})

describe('an image that is missing', () => {
  test('is pulled onto all nodes that lack it, and are eligible', () => {
    const nodes = [two, one, node('not-ready', { ready: false }), node('cordoned', { cordoned: true })]
    expect(acts(decide({ nodes }))).toEqual(['create w_2026_01: one two'])
    expect(acts(decide({ nodes: nodes.slice(2) }))).toEqual([])
  })

  test('waits for its turn, the first ones first', () => {
    const images = [weekly, image('b', 'b'), image('c', 'c'), image('d', 'd')]
    expect(acts(decide({}, images))).toEqual(['create w_2026_01: one', 'create b: one'])
    const sets = [setOf(['one'], {}, images[2])]
    expect(acts(decide({ sets }, images))).toEqual(['create w_2026_01: one'])
  })

  test('is not made while its DaemonSet is on its way out', () => {
    const sets = [setOf(['one'], { deleting: true })]
    expect(acts(decide({ sets }))).toEqual([])
    expect(acts(decide({ sets, nodes: [one, two], pods: [podOf('one', 'failed')] }))).toEqual([])
    expect(decide({ sets, pods: [podOf('one', 'failed')] }).records).toEqual(none)
  })

  test('is pulled again when its tag has moved', () => {
    const moved = image('w_2026_01', 'b')
    const sets = [setOf(['one'])]
    const records = withPulled({ 'uid-one': false })
    const decision = decide({ sets, records }, [moved])
    expect(acts(decision)).toEqual(['create w_2026_01: one', 'remove w_2026_01: unwanted'])
    expect(decision.create[0]!.name).not.toBe(sets[0]!.name)
    expect(decision.records.prepulled.size).toBe(0)
  })
})

describe('a pull in progress', () => {
  const nodes = [one, two]
  const sets = [setOf(['one', 'two'])]

  test('goes on until each node has it, and is then recorded and removed', () => {
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulling')]
    const midway = decide({ nodes, sets, pods })
    expect(acts(midway)).toEqual([])
    expect(midway.records.prepulled).toEqual(new Map([[key, new Map([['uid-one', false]])]]))
    expect(midway.dueMs).toBe(sets[0]!.begunMs + rules.timeoutMs)
    const done = decide({ nodes, sets, pods: [podOf('one', 'pulled'), podOf('two', 'pulled')] })
    expect(acts(done)).toEqual(['remove w_2026_01: pulled'])
    expect([...done.records.prepulled.get(key)!.keys()]).toEqual(['uid-one', 'uid-two'])
    expect(acts(decide({ nodes, records: done.records }))).toEqual([])
  })

  test('counts for a node only with a pod of that very node', () => {
    const reborn = node('one', { uid: 'reborn', createdAt: '1970-01-01T00:00:10Z' })
    const by = (createdMs: number) => decide({ nodes: [reborn], pods: [podOf('one', 'pulled', { createdMs })] })
    expect(by(9000).records).toEqual(none)
    expect(by(10_000).records.prepulled.get(key)).toEqual(new Map([['reborn', false]]))
  })

  test('takes in a node that joins', () => {
    const three = node('three')
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulling')]
    const decision = decide({ nodes: [...nodes, three], sets, pods })
    expect(acts(decision)).toEqual(['extend w_2026_01: three two'])
    expect(decision.extend[0]!.set).toBe(sets[0])
  })

  test('that is over takes one in too, in place of being made anew', () => {
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulled')]
    expect(acts(decide({ nodes: [...nodes, node('three')], sets, pods }))).toEqual(['extend w_2026_01: three'])
  })

  test('forgets a node that leaves, or that labs cannot come to any more', () => {
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulling')]
    expect(acts(decide({ nodes: [one], sets, pods }))).toEqual(['remove w_2026_01: pulled'])
    expect(acts(decide({ nodes: [one, node('two', { cordoned: true })], sets, pods }))).toEqual([
      'remove w_2026_01: pulled',
    ])
  })

  test('of an image that is wanted no longer ends', () => {
    expect(acts(decide({ nodes, sets }, []))).toEqual(['remove w_2026_01: unwanted'])
    expect(acts(decide({ nodes, sets: [setOf(['one'], { deleting: true })] }, []))).toEqual([])
  })

  test('that somebody made another one ends', () => {
    expect(acts(decide({ nodes, sets: [setOf(['one', 'two'], { image: 'evil@sha256:x' })] }))).toEqual([
      'remove evil@sha256:x: unwanted',
    ])
  })
})

describe('a pull that fails', () => {
  const nodes = [one, two]
  const sets = [setOf(['one', 'two'])]
  const failed = (on: string, message = `no ${on}`) => podOf(on, 'failed', { message })

  test('on some nodes waits for the others', () => {
    expect(acts(decide({ nodes, sets, pods: [failed('one'), podOf('two', 'pulling')] }))).toEqual([])
    expect(acts(decide({ nodes, sets, pods: [failed('one')] }))).toEqual([])
  })

  test('on all that are left is recorded with its reason, and put off', () => {
    const decision = decide({ nodes, sets, pods: [failed('two'), podOf('one', 'pulled')] })
    expect(acts(decision)).toEqual(['remove w_2026_01: failed'])
    const failure = { attempts: 1, nextMs: nowMs + 1000, error: 'two: no two', nodes: ['uid-two'], set: 'set-1' }
    expect(decision.records.failures).toEqual(new Map([[key, failure]]))
    expect(decision.failed).toEqual([{ image: weekly, failure }])
    expect(decision.dueMs).toBe(nowMs + 1000)
    expect(acts(decide({ nodes, records: decision.records }))).toEqual([])
  })

  test('on several is told once', () => {
    const { records } = decide({ nodes, sets, pods: [failed('two'), failed('one')] })
    expect(records.failures.get(key)!.error).toBe('one (and 1 more): no one')
  })

  test('counts once, although its DaemonSet still shows', () => {
    const pods = [failed('one'), failed('two')]
    const { records } = decide({ nodes, sets, pods })
    const again = decide({ nodes, sets, pods, records })
    expect(acts(again)).toEqual(['remove w_2026_01: failed'])
    expect(again.records).toEqual(records)
    expect(again.failed).toEqual([])
    expect(decide({ nodes, sets, pods, records, nowMs: nowMs + 2000 }).records).toEqual(records)
  })

  test('is tried again when its time has come, after twice the wait each time, up to a bound', () => {
    const records = withFailure(failureOf())
    expect(acts(decide({ records }))).toEqual([])
    expect(acts(decide({ records, nowMs: nowMs + 500 }))).toEqual(['create w_2026_01: one'])
    const waits = [1, 2, 3, 4, 60].map(attempts => {
      const before = withFailure(failureOf({ attempts, nextMs: 0 }))
      const pods = [failed('one')]
      return decide({ sets: [setOf(['one'])], pods, records: before }).records.failures.get(key)!.nextMs - nowMs
    })
    expect(waits).toEqual([2000, 4000, 5000, 5000, 5000])
  })

  test('does not hold up nodes that have joined since', () => {
    const records = withFailure(failureOf())
    expect(acts(decide({ nodes, records }))).toEqual(['create w_2026_01: two'])
    expect(acts(decide({ nodes, records, sets: [setOf(['two'])], nowMs: nowMs + 500 }))).toEqual([
      'extend w_2026_01: one two',
    ])
  })

  test('on a node that has joined since is not the next attempt', () => {
    const records = withFailure(failureOf())
    const { failures } = decide({ nodes, records, sets: [setOf(['two'])], pods: [failed('two')] }).records
    const failure = { attempts: 1, nextMs: nowMs + 500, error: 'two: no two', nodes: ['uid-one', 'uid-two'] }
    expect(failures).toEqual(new Map([[key, { ...failure, set: 'set-1' }]]))
  })

  test('is forgotten with the last of its nodes, or when it has the image after all', () => {
    const records = withFailure(failureOf())
    expect(decide({ nodes: [two], records }).records.failures.size).toBe(0)
    const listing = node('one', { images: [[`${repository}@${digestOf('a')}`]] })
    expect(decide({ nodes: [listing], records }).records.failures.size).toBe(0)
    expect(decide({ nodes: [node('one', { cordoned: true })], records }).records.failures.size).toBe(1)
    expect(decide({ records }, [image('other', 'b')]).records.failures.size).toBe(0)
  })

  test('by taking too long says what it waited for', () => {
    const late = { nodes, sets: [setOf(['one', 'two'], { begunMs: nowMs - 60_000 })] }
    const errorOf = (...pods: PullPod[]) => decide({ ...late, pods }).records.failures.get(key)!.error
    expect(errorOf(podOf('one', 'pulling'))).toBe('one (and 1 more): The pull did not end within 60 s')
    expect(errorOf(podOf('one', 'pulling'), podOf('two', 'pulling', { message: 'no room' }))).toContain('60 s')
    expect(errorOf(podOf('one', 'pulled'), podOf('two', 'pulling', { message: 'no room' }))).toBe('two: no room')
    expect(errorOf(podOf('one', 'pulling'), failed('two'))).toBe('two (and 1 more): no two')
    expect(acts(decide({ ...late, nowMs: nowMs - 1 }))).toEqual([])
  })

  test('of a former DaemonSet says nothing of this one', () => {
    const pods = [podOf('one', 'failed', { setUid: 'set-0' }), podOf('two', 'failed', { setUid: 'set-0' })]
    expect(acts(decide({ nodes, sets, pods }))).toEqual([])
  })

  test('since the cluster refuses it is recorded too', () => {
    const order = { name: 'x', image: weekly, nodes: ['one'] }
    const { failures } = recordsAfterRefusal(none, order, 'forbidden', worldOf({ nodes }), rules)
    const failure = { attempts: 1, nextMs: nowMs + 1000, error: 'forbidden', nodes: ['uid-one'], set: '' }
    expect(failures).toEqual(new Map([[key, failure]]))
    const joining = { ...order, nodes: ['one', 'two'], set: setOf(['two']) }
    expect(recordsAfterRefusal(none, joining, 'forbidden', worldOf({ nodes }), rules).failures).toEqual(failures)
  })
})

describe('what is recorded of a pull', () => {
  const listing = node('one', { images: [[`${repository}@${digestOf('a')}`]] })

  test('is known to be listed once it is', () => {
    expect(decide({ nodes: [listing], records: withPulled({ 'uid-one': false }) }).records).toEqual(
      withPulled({ 'uid-one': true }),
    )
  })

  test('of an image that the node has listed since and lists no longer is void, for who decides', () => {
    const records = withPulled({ 'uid-one': true })
    expect(acts(decide({ records }))).toEqual(['create w_2026_01: one'])
    expect(decide({ records }).records).toEqual(none)
    expect(standings([weekly], worldOf({ records }), rules)[0]!.missing).toEqual([])
  })

  test('goes with its node and with its image', () => {
    const records = withPulled({ 'uid-one': false, 'uid-gone': false })
    expect(decide({ records }).records).toEqual(withPulled({ 'uid-one': false }))
    expect(decide({ records }, []).records).toEqual(none)
  })

  test('is not made of what a node lists by itself', () => {
    expect(decide({ nodes: [listing] }).records).toEqual(none)
  })
})
