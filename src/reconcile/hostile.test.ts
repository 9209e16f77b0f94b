/** The engine among others: replicas that lag, leases that lapse, objects and words of strangers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unlessAborted } from '../base/deadline.ts'
import type { Selects } from './testing/api.ts'
import type { AnyKind } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const subjects = (name: string) => JSON.stringify(samples.get('RoleBinding', `s-${name}`)?.subjects ?? [])

describe('Reconciler whose watch lags', () => {
  test('does not undo the newer wish that another replica knows', async () => {
    samples.replica()
    const late = samples.replica()
    samples.put('one', { members: ['ada', 'eve'] })
    await samples.pass(1_000)
    samples.api.stall(late.sights.samples)
    samples.put('one', { members: ['ada'] })
    await samples.pass(3_000)
    samples.written()
    await samples.pass(110_000)
    expect([subjects('one').includes('eve'), samples.phase('one'), samples.written()]).toEqual([false, 'Ready', []])
  })

  test.each([1, 12])('leaves a shared object to the replica that knows the newer wishes of %i parents', async count => {
    samples.replica()
    const late = samples.replica()
    samples.put('last')
    for (let i = 0; i < count; i += 1) samples.put(`s${i}`)
    await samples.pass(1_000)
    samples.api.stall(late.sights.samples)
    samples.written()
    for (let i = 0; i < count; i += 1) samples.put(`s${i}`, { colour: 'blue' })
    await samples.pass(5_000)
    const owners = (colour: string) => samples.get('ConfigMap', `colour-${colour}`)?.metadata.ownerReferences?.length
    expect([owners('red'), owners('blue')]).toEqual([1, count])
    expect(samples.written().filter(write => write.includes('ConfigMap')).length).toBeLessThanOrEqual(3 * count)
    samples.api.catchUp(late.sights.samples)
    await samples.pass(1_000)
    expect([owners('red'), owners('blue')]).toEqual([1, count])
  })

  test('gives nothing again by the first of two quick edits, of which it has not seen the second', async () => {
    samples.replica()
    const late = samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.put('one', { members: ['ada', 'eve'] })
    samples.api.stall(late.sights.samples)
    samples.put('one', { members: ['ada'] })
    samples.written()
    await samples.pass(5_000)
    expect([subjects('one').includes('eve'), samples.written()]).toEqual([false, ['status Sample one']])
  })

  test('waits hardly for a parent that cannot be read', async () => {
    const { get } = samples.api.client
    const hanging = Promise.withResolvers<null>()
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.api.client.get = (ref, options) =>
      ref.kind === 'Sample' ? unlessAborted(hanging.promise, options?.signal) : get(ref, options)
    const binding = samples.get('RoleBinding', 's-one')!
    const [ada] = binding.subjects as [object]
    samples.api.put({ ...binding, subjects: [ada, { ...ada, name: 'eve' }] })
    await samples.pass(700)
    expect(subjects('one')).not.toContain('eve')
  })

  test('makes nothing again for a parent that was made again, by what it saw of the former one', async () => {
    const { sights } = samples.replica()
    samples.put('one')
    await samples.pass(500)
    samples.api.stall(sights.samples)
    samples.api.remove({ apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', namespace: 'n', name: 'one' })
    samples.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' })
    samples.written()
    await samples.pass(10_000)
    expect(samples.written()).toEqual([])
    samples.put('one', { members: ['bob'] })
    samples.api.catchUp(sights.samples)
    await samples.pass(2_000)
    expect([samples.phase('one'), subjects('one').includes('bob')]).toEqual(['Ready', true])
  })
})

describe('Reconciler whose leases lapse', () => {
  test('ends right although all replicas act at once', async () => {
    samples.leases.lapsing = true
    for (let i = 0; i < 3; i += 1) samples.replica()
    for (let i = 0; i < 10; i += 1) samples.put(`s${i}`, { members: ['ada', 'eve'] })
    await samples.pass(3_000)
    for (let i = 0; i < 10; i += 1) samples.put(`s${i}`, { members: ['ada'], image: 'app:2' })
    await samples.pass(5_000)
    for (let i = 0; i < 10; i += 1) {
      expect([samples.phase(`s${i}`), subjects(`s${i}`).includes('eve')]).toEqual(['Ready', false])
    }
    samples.written()
    await samples.pass(60_000)
    expect(samples.written()).toEqual([])
  })
})

describe('Reconciler and strangers', () => {
  test('takes a right away also beside an object that left what its watch selects', async () => {
    samples.replica({
      selects: ({ kind, metadata }) => kind !== 'RoleBinding' || metadata.labels?.hidden === undefined,
    })
    samples.put('one', { members: ['ada'] })
    await samples.pass(500)
    const binding = samples.get('RoleBinding', 's-one')!
    const [ada] = binding.subjects as [object]
    const labels = { hidden: 'x' }
    samples.api.put({ ...binding, metadata: { ...binding.metadata, labels }, subjects: [ada, { ...ada, name: 'eve' }] })
    await samples.pass(1_000)
    expect([subjects('one').includes('eve'), samples.phase('one')]).toEqual([false, 'Ready'])
  })

  test('notices that a conflict is over which its watch does not show', async () => {
    const selects: Selects = ({ kind, metadata }) => kind !== 'Service' || metadata.ownerReferences !== undefined
    samples.replica({ selects })
    const metadata = { name: 's-one', namespace: 'n' }
    samples.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    samples.put('one')
    await samples.pass(300_000)
    // A conflict is read, and not tried again.
    const tries = samples.failpoints.filter(name => name === 'reconcile.sample.create.Service.before-send')
    expect([samples.phase('one'), tries.length]).toEqual(['Conflict', 1])
    samples.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' })
    await samples.pass(61_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('leaves an object of another parent, and tells it', async () => {
    samples.replica()
    const owner = { apiVersion: 'sample.skylab.dev/v1', kind: 'Sample', name: 'two', uid: 'uid-of-two' }
    const metadata = { name: 's-one', namespace: 'n', ownerReferences: [owner] }
    const theirs = samples.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    samples.put('one')
    await samples.pass(5_000)
    expect([samples.get('Service', 's-one'), samples.phase('one'), samples.names('RoleBinding')]).toEqual([
      theirs,
      'Conflict',
      [],
    ])
  })

  test('does not call a conflict contended, however often other objects change', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    const service = samples.get('Service', 's-one')!
    samples.api.put({ ...service, metadata: { ...service.metadata, ownerReferences: [] } })
    for (let i = 0; i < 10; i += 1) {
      await samples.pass(500)
      samples.api.put({ ...samples.get('Deployment', 's-one')!, spec: { replicas: i } })
    }
    await samples.pass(500)
    expect(samples.phase('one')).toBe('Conflict')
    samples.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' })
    await samples.pass(1_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('reads a last wish that somebody wrote as none, or as one', async () => {
    samples.replica()
    samples.put('one')
    await samples.pass(500)
    for (const last of [
      '',
      '[',
      'null',
      '{"spec":{"selector":7}}',
      '{"__proto__":{"spec":1}}',
      `${'['.repeat(50_000)}`,
    ]) {
      const service = samples.get('Service', 's-one')!
      const annotations = { ...service.metadata.annotations, 'skylab/last': last }
      samples.put('one', { image: `app:${last.length}` })
      samples.api.put({ ...service, metadata: { ...service.metadata, annotations } })
      await samples.pass(2_000)
      const after = samples.get('Service', 's-one')!
      expect([after.metadata.annotations, samples.phase('one')]).toEqual([service.metadata.annotations, 'Ready'])
    }
  })

  test.each<[string, object]>([
    ['nothing in it', {}],
    ['other types', { colour: 7, members: 'ada', image: ['x'] }],
    ['names of JavaScript', { colour: '__proto__', members: ['constructor', 'toString'], image: '__proto__' }],
    ['deep lists', { members: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) }],
  ])('goes on with others beside a parent with %s', async (_what, spec) => {
    samples.replica()
    const known = samples.put('bad')
    samples.api.put({ ...known, spec })
    samples.put('good')
    await samples.pass(1_000)
    expect(samples.phase('good')).toBe('Ready')
  })

  test('goes on with others beside a parent for which the kind throws', async () => {
    const change = (kind: AnyKind): AnyKind => ({
      ...kind,
      desired: (key, ...args) => {
        if (key === 'n/bad') throw new Error('a defect')
        return kind.desired(key, ...args)
      },
    })
    samples.replica({ change: change as never, room: 1 })
    samples.put('bad')
    samples.put('good')
    await samples.pass(60_000)
    expect(samples.phase('good')).toBe('Ready')
    expect(samples.log.messages).toEqual(['error: a turn of a custom resource failed'])
  })
})
