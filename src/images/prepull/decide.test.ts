import { describe, expect, test } from 'vitest'
import { digestOf, image, node, noRecords, repository, rules } from '../../../test/kit/images/cluster.ts'
import { configSchema } from '../../config/schema.ts'
import type { PrepullRecords, PullFailure } from '../../store/prepulls.ts'
import type { CatalogueImage } from '../catalogue/types.ts'
import {
  decidePrepull,
  imageKey,
  type PrepullDecision,
  type PrepullWorld,
  recordsAfterRefusal,
  standings,
} from './decide.ts'
import type { NodeFacts } from './nodes.ts'
import { type PullPod, type PullSet, pullReference, pullSetName } from './pull-set.ts'

const config = configSchema.parse({ installation: 'north' })
const nowMs = 1_000_000
const weekly = image('w_2026_01')
const key = imageKey(weekly)
const one = node('one')
const two = node('two')

const worldOf = (more: Partial<PrepullWorld> = {}): PrepullWorld => ({
  ...{ nodes: [one], sets: [], pods: [], records: noRecords, nowMs },
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
const withFailure = (failure: PullFailure): PrepullRecords => ({ ...noRecords, failures: new Map([[key, failure]]) })
const withPulled = (uids: Record<string, boolean>): PrepullRecords => ({
  ...noRecords,
  prepulled: new Map([[key, new Map(Object.entries(uids))]]),
})

/** A decision in short form. */
const acts = ({ create, extend, remove }: PrepullDecision) => [
  ...create.map(({ image, nodes }) => `create ${image.tag}: ${nodes.join(' ')}`),
  ...extend.map(({ image, nodes }) => `extend ${image.tag}: ${nodes.join(' ')}`),
  ...remove.map(({ set, why }) => `remove ${set.image.replace(/^.*:(.*)@.*$/, '$1')}: ${why}`),
]

describe('standings', () => {
  const name = `${repository}@${digestOf('a')}`
  const isMissing = (facts: NodeFacts, records = noRecords, what = weekly) =>
    standings([what], worldOf({ nodes: [facts], records }), rules)[0]!.missing.length === 1

  test.each([
    ['its digest', [name, `${repository}:w_2026_01`], false],
    ['its digest under another tag', [`${repository}:x`, name], false],
    ['its tag with another digest', [`${repository}@${digestOf('b')}`, `${repository}:w_2026_01`], true],
    ['its digest in another repository', [`elsewhere/lab@${digestOf('a')}`], true],
    ['nothing', [], true],
  ])('judges a node that lists %s', (_, names, missing) => {
    expect(isMissing(node('one', { images: [['other:1'], names] }))).toBe(missing)
  })

  test('uses the tag when no digest is known', () => {
    const unknown = image('w_2026_01', null)
    expect(isMissing(node('one', { images: [[`${repository}:w_2026_01`]] }), noRecords, unknown)).toBe(false)
    expect(isMissing(node('one', { images: [[name]] }), noRecords, unknown)).toBe(true)
  })

  test('accepts a name of Docker Hub without the host', () => {
    const hub = { ...weekly, reference: 'docker.io/some/lab:x' }
    expect(isMissing(node('one', { images: [[`some/lab@${digestOf('a')}`]] }), noRecords, hub)).toBe(false)
  })

  test('counts a completed pull for its node, even if that does not list the image', () => {
    expect(isMissing(one, withPulled({ 'uid-one': false }))).toBe(false)
    expect(isMissing(node('one', { uid: 'reborn' }), withPulled({ 'uid-one': false }))).toBe(true)
    expect(isMissing(one, withPulled({ 'uid-one': false }), image('w_2026_01', 'b'))).toBe(true)
  })

  test('treats two tags of one digest as one image', () => {
    expect(standings([weekly, image('recommended')], worldOf(), rules).map(each => each.image.tag)).toEqual([
      'w_2026_01',
    ])
  })
})

describe('decidePrepull, when an image is missing,', () => {
  test('pulls it onto all eligible nodes that lack it', () => {
    const nodes = [two, one, node('not-ready', { ready: false }), node('cordoned', { cordoned: true })]
    expect(acts(decide({ nodes }))).toEqual(['create w_2026_01: one two'])
    expect(acts(decide({ nodes: nodes.slice(2) }))).toEqual([])
  })

  test('pulls the first images first, within the bound', () => {
    const images = [weekly, image('b', 'b'), image('c', 'c'), image('d', 'd')]
    expect(acts(decide({}, images))).toEqual(['create w_2026_01: one', 'create b: one'])
    const sets = [setOf(['one'], {}, images[2])]
    expect(acts(decide({ sets }, images))).toEqual(['create w_2026_01: one'])
  })

  test('makes no DaemonSet while the former one is being deleted', () => {
    const sets = [setOf(['one'], { deleting: true })]
    expect(acts(decide({ sets }))).toEqual([])
    expect(acts(decide({ sets, nodes: [one, two], pods: [podOf('one', 'failed')] }))).toEqual([])
    expect(decide({ sets, pods: [podOf('one', 'failed')] }).records).toEqual(noRecords)
  })

  test('pulls again when the tag has moved', () => {
    const moved = image('w_2026_01', 'b')
    const sets = [setOf(['one'])]
    const records = withPulled({ 'uid-one': false })
    const decision = decide({ sets, records }, [moved])
    expect(acts(decision)).toEqual(['create w_2026_01: one', 'remove w_2026_01: unwanted'])
    expect(decision.create[0]!.name).not.toBe(sets[0]!.name)
    expect(decision.records.prepulled.size).toBe(0)
  })
})

describe('decidePrepull, during a pull,', () => {
  const nodes = [one, two]
  const sets = [setOf(['one', 'two'])]

  test('goes on until each node has the image, and then records and removes it', () => {
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

  test('counts the pull for a node only with a pod on that node', () => {
    const reborn = node('one', { uid: 'reborn', createdAt: '1970-01-01T00:00:10Z' })
    const by = (createdMs: number) => decide({ nodes: [reborn], pods: [podOf('one', 'pulled', { createdMs })] })
    expect(by(9000).records).toEqual(noRecords)
    expect(by(10_000).records.prepulled.get(key)).toEqual(new Map([['reborn', false]]))
  })

  test('includes a node that joins', () => {
    const three = node('three')
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulling')]
    const decision = decide({ nodes: [...nodes, three], sets, pods })
    expect(acts(decision)).toEqual(['extend w_2026_01: three two'])
    expect(decision.extend[0]!.set).toBe(sets[0])
  })

  test('includes a joining node in a pull that is over, instead of a new pull', () => {
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulled')]
    expect(acts(decide({ nodes: [...nodes, node('three')], sets, pods }))).toEqual(['extend w_2026_01: three'])
  })

  test('drops a node that leaves, or that labs can no longer run on', () => {
    const pods = [podOf('one', 'pulled'), podOf('two', 'pulling')]
    expect(acts(decide({ nodes: [one], sets, pods }))).toEqual(['remove w_2026_01: pulled'])
    expect(acts(decide({ nodes: [one, node('two', { cordoned: true })], sets, pods }))).toEqual([
      'remove w_2026_01: pulled',
    ])
  })

  test('ends the pull of an image that is no longer wanted', () => {
    expect(acts(decide({ nodes, sets }, []))).toEqual(['remove w_2026_01: unwanted'])
    expect(acts(decide({ nodes, sets: [setOf(['one'], { deleting: true })] }, []))).toEqual([])
  })

  test('ends a pull whose DaemonSet was changed by others', () => {
    expect(acts(decide({ nodes, sets: [setOf(['one', 'two'], { image: 'evil@sha256:x' })] }))).toEqual([
      'remove evil@sha256:x: unwanted',
    ])
  })
})

describe('decidePrepull, when a pull fails,', () => {
  const nodes = [one, two]
  const sets = [setOf(['one', 'two'])]
  const failed = (on: string, message = `no ${on}`) => podOf(on, 'failed', { message })

  test('waits for the other nodes when it failed on some', () => {
    expect(acts(decide({ nodes, sets, pods: [failed('one'), podOf('two', 'pulling')] }))).toEqual([])
    expect(acts(decide({ nodes, sets, pods: [failed('one')] }))).toEqual([])
  })

  test('records the reason and puts the pull off when it failed on all remaining nodes', () => {
    const decision = decide({ nodes, sets, pods: [failed('two'), podOf('one', 'pulled')] })
    expect(acts(decision)).toEqual(['remove w_2026_01: failed'])
    const failure = { attempts: 1, nextMs: nowMs + 1000, error: 'two: no two', nodes: ['uid-two'], set: 'set-1' }
    expect(decision.records.failures).toEqual(new Map([[key, failure]]))
    expect(decision.failed).toEqual([{ image: weekly, failure }])
    expect(decision.dueMs).toBe(nowMs + 1000)
    expect(acts(decide({ nodes, records: decision.records }))).toEqual([])
  })

  test('reports one message for several nodes', () => {
    const { records } = decide({ nodes, sets, pods: [failed('two'), failed('one')] })
    expect(records.failures.get(key)!.error).toBe('one (and 1 more): no one')
  })

  test('counts it once, even if its DaemonSet is still shown', () => {
    const pods = [failed('one'), failed('two')]
    const { records } = decide({ nodes, sets, pods })
    const again = decide({ nodes, sets, pods, records })
    expect(acts(again)).toEqual(['remove w_2026_01: failed'])
    expect(again.records).toEqual(records)
    expect(again.failed).toEqual([])
    expect(decide({ nodes, sets, pods, records, nowMs: nowMs + 2000 }).records).toEqual(records)
  })

  test('tries again after a time that doubles up to a bound', () => {
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

  test('does not delay nodes that joined later', () => {
    const records = withFailure(failureOf())
    expect(acts(decide({ nodes, records }))).toEqual(['create w_2026_01: two'])
    expect(acts(decide({ nodes, records, sets: [setOf(['two'])], nowMs: nowMs + 500 }))).toEqual([
      'extend w_2026_01: one two',
    ])
  })

  test('does not count a failure on a node that joined later as the next attempt', () => {
    const records = withFailure(failureOf())
    const { failures } = decide({ nodes, records, sets: [setOf(['two'])], pods: [failed('two')] }).records
    const failure = { attempts: 1, nextMs: nowMs + 500, error: 'two: no two', nodes: ['uid-one', 'uid-two'] }
    expect(failures).toEqual(new Map([[key, { ...failure, set: 'set-1' }]]))
  })

  test('forgets it with the last of its nodes, or when that has the image after all', () => {
    const records = withFailure(failureOf())
    expect(decide({ nodes: [two], records }).records.failures.size).toBe(0)
    const listing = node('one', { images: [[`${repository}@${digestOf('a')}`]] })
    expect(decide({ nodes: [listing], records }).records.failures.size).toBe(0)
    expect(decide({ nodes: [node('one', { cordoned: true })], records }).records.failures.size).toBe(1)
    expect(decide({ records }, [image('other', 'b')]).records.failures.size).toBe(0)
  })

  test('names the wait when the pull took too long', () => {
    const late = { nodes, sets: [setOf(['one', 'two'], { begunMs: nowMs - 60_000 })] }
    const errorOf = (...pods: PullPod[]) => decide({ ...late, pods }).records.failures.get(key)!.error
    expect(errorOf(podOf('one', 'pulling'))).toBe('one (and 1 more): The pull did not end within 60 s')
    expect(errorOf(podOf('one', 'pulling'), podOf('two', 'pulling', { message: 'no room' }))).toContain('60 s')
    expect(errorOf(podOf('one', 'pulled'), podOf('two', 'pulling', { message: 'no room' }))).toBe('two: no room')
    expect(errorOf(podOf('one', 'pulling'), failed('two'))).toBe('two (and 1 more): no two')
    expect(acts(decide({ ...late, nowMs: nowMs - 1 }))).toEqual([])
  })

  test('ignores the failure of a former DaemonSet', () => {
    const pods = [podOf('one', 'failed', { setUid: 'set-0' }), podOf('two', 'failed', { setUid: 'set-0' })]
    expect(acts(decide({ nodes, sets, pods }))).toEqual([])
  })

  test('records a refusal by the cluster too', () => {
    const order = { name: 'x', image: weekly, nodes: ['one'] }
    const { failures } = recordsAfterRefusal(noRecords, order, 'forbidden', worldOf({ nodes }), rules)
    const failure = { attempts: 1, nextMs: nowMs + 1000, error: 'forbidden', nodes: ['uid-one'], set: '' }
    expect(failures).toEqual(new Map([[key, failure]]))
    const joining = { ...order, nodes: ['one', 'two'], set: setOf(['two']) }
    expect(recordsAfterRefusal(noRecords, joining, 'forbidden', worldOf({ nodes }), rules).failures).toEqual(failures)
  })
})

describe('The records of decidePrepull', () => {
  const listing = node('one', { images: [[`${repository}@${digestOf('a')}`]] })

  test('note when the node lists the image', () => {
    expect(decide({ nodes: [listing], records: withPulled({ 'uid-one': false }) }).records).toEqual(
      withPulled({ 'uid-one': true }),
    )
  })

  test('do not count for decisions when the node listed the image and no longer does', () => {
    const records = withPulled({ 'uid-one': true })
    expect(acts(decide({ records }))).toEqual(['create w_2026_01: one'])
    expect(decide({ records }).records).toEqual(noRecords)
    expect(standings([weekly], worldOf({ records }), rules)[0]!.missing).toEqual([])
  })

  test('are removed with the node and with the image', () => {
    const records = withPulled({ 'uid-one': false, 'uid-gone': false })
    expect(decide({ records }).records).toEqual(withPulled({ 'uid-one': false }))
    expect(decide({ records }, []).records).toEqual(noRecords)
  })

  test('have no image that a node only lists', () => {
    expect(decide({ nodes: [listing] }).records).toEqual(noRecords)
  })
})
