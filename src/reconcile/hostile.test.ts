/** What others do to the engine: replicas that lag, leases that lapse, objects and words of strangers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { unlessAborted } from '../base/deadline.ts'
import type { Selects } from './testing/api.ts'
import type { AnyKind } from './testing/kinds.ts'
import { Toys } from './testing/toys.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const subjects = (name: string) => JSON.stringify(toys.get('RoleBinding', `g-${name}`)?.subjects ?? [])

describe('Reconciler whose watch lags', () => {
  test('does not undo the newer wish that another replica knows', async () => {
    toys.replica()
    const late = toys.replica()
    toys.put('one', { members: ['ada', 'eve'] })
    await toys.pass(1_000)
    toys.api.stall(late.sights.gadgets)
    toys.put('one', { members: ['ada'] })
    await toys.pass(3_000)
    toys.written()
    await toys.pass(110_000)
    expect([subjects('one').includes('eve'), toys.phase('one'), toys.written()]).toEqual([false, 'Ready', []])
  })

  test.each([1, 12])('leaves a shared object to the replica that knows the newer wishes of %i parents', async count => {
    toys.replica()
    const late = toys.replica()
    toys.put('last')
    for (let i = 0; i < count; i += 1) toys.put(`g${i}`)
    await toys.pass(1_000)
    toys.api.stall(late.sights.gadgets)
    toys.written()
    for (let i = 0; i < count; i += 1) toys.put(`g${i}`, { colour: 'blue' })
    await toys.pass(5_000)
    const owners = (colour: string) => toys.get('ConfigMap', `colour-${colour}`)?.metadata.ownerReferences?.length
    expect([owners('red'), owners('blue')]).toEqual([1, count])
    expect(toys.written().filter(write => write.includes('ConfigMap')).length).toBeLessThanOrEqual(3 * count)
    toys.api.catchUp(late.sights.gadgets)
    await toys.pass(1_000)
    expect([owners('red'), owners('blue')]).toEqual([1, count])
  })

  test('gives nothing again by the first of two quick edits, of which it has not seen the second', async () => {
    toys.replica()
    const late = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.put('one', { members: ['ada', 'eve'] })
    toys.api.stall(late.sights.gadgets)
    toys.put('one', { members: ['ada'] })
    toys.written()
    await toys.pass(5_000)
    expect([subjects('one').includes('eve'), toys.written()]).toEqual([false, ['status Gadget one']])
  })

  test('waits hardly for a parent that cannot be read', async () => {
    const { get } = toys.api.client
    const hanging = Promise.withResolvers<null>()
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.api.client.get = (ref, options) =>
      ref.kind === 'Gadget' ? unlessAborted(hanging.promise, options?.signal) : get(ref, options)
    const binding = toys.get('RoleBinding', 'g-one')!
    const [ada] = binding.subjects as [object]
    toys.api.put({ ...binding, subjects: [ada, { ...ada, name: 'eve' }] })
    await toys.pass(700)
    expect(subjects('one')).not.toContain('eve')
  })

  test('makes nothing again for a parent that was made again, by what it saw of the former one', async () => {
    const { sights } = toys.replica()
    toys.put('one')
    await toys.pass(500)
    toys.api.stall(sights.gadgets)
    toys.api.remove({ apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', namespace: 'n', name: 'one' })
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    toys.written()
    await toys.pass(10_000)
    expect(toys.written()).toEqual([])
    toys.put('one', { members: ['bob'] })
    toys.api.catchUp(sights.gadgets)
    await toys.pass(2_000)
    expect([toys.phase('one'), subjects('one').includes('bob')]).toEqual(['Ready', true])
  })
})

describe('Reconciler whose leases lapse', () => {
  test('ends right although all replicas act at once', async () => {
    toys.leases.lapsing = true
    for (let i = 0; i < 3; i += 1) toys.replica()
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`, { members: ['ada', 'eve'] })
    await toys.pass(3_000)
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`, { members: ['ada'], image: 'app:2' })
    await toys.pass(5_000)
    for (let i = 0; i < 10; i += 1) {
      expect([toys.phase(`g${i}`), subjects(`g${i}`).includes('eve')]).toEqual(['Ready', false])
    }
    toys.written()
    await toys.pass(60_000)
    expect(toys.written()).toEqual([])
  })
})

describe('Reconciler and strangers', () => {
  test('takes a right away also beside an object that left what its watch selects', async () => {
    toys.replica({ selects: ({ kind, metadata }) => kind !== 'RoleBinding' || metadata.labels?.hidden === undefined })
    toys.put('one', { members: ['ada'] })
    await toys.pass(500)
    const binding = toys.get('RoleBinding', 'g-one')!
    const [ada] = binding.subjects as [object]
    const labels = { hidden: 'x' }
    toys.api.put({ ...binding, metadata: { ...binding.metadata, labels }, subjects: [ada, { ...ada, name: 'eve' }] })
    await toys.pass(1_000)
    expect([subjects('one').includes('eve'), toys.phase('one')]).toEqual([false, 'Ready'])
  })

  test('notices that a conflict is over which its watch does not show', async () => {
    const selects: Selects = ({ kind, metadata }) => kind !== 'Service' || metadata.ownerReferences !== undefined
    toys.replica({ selects })
    const metadata = { name: 'g-one', namespace: 'n' }
    toys.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    toys.put('one')
    await toys.pass(300_000)
    // A conflict is read, and not tried again.
    const tries = toys.failpoints.filter(name => name === 'reconcile.gadget.create.Service.before-send')
    expect([toys.phase('one'), tries.length]).toEqual(['Conflict', 1])
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    await toys.pass(61_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('leaves an object of another parent, and tells it', async () => {
    toys.replica()
    const owner = { apiVersion: 'toy.skylab.dev/v1', kind: 'Gadget', name: 'two', uid: 'uid-of-two' }
    const metadata = { name: 'g-one', namespace: 'n', ownerReferences: [owner] }
    const theirs = toys.api.put({ apiVersion: 'v1', kind: 'Service', metadata })
    toys.put('one')
    await toys.pass(5_000)
    expect([toys.get('Service', 'g-one'), toys.phase('one'), toys.names('RoleBinding')]).toEqual([
      theirs,
      'Conflict',
      [],
    ])
  })

  test('does not call a conflict contended, however often other objects change', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    const service = toys.get('Service', 'g-one')!
    toys.api.put({ ...service, metadata: { ...service.metadata, ownerReferences: [] } })
    for (let i = 0; i < 10; i += 1) {
      await toys.pass(500)
      toys.api.put({ ...toys.get('Deployment', 'g-one')!, spec: { replicas: i } })
    }
    await toys.pass(500)
    expect(toys.phase('one')).toBe('Conflict')
    toys.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 'g-one' })
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('reads a last wish that somebody wrote as none, or as one', async () => {
    toys.replica()
    toys.put('one')
    await toys.pass(500)
    for (const last of [
      '',
      '[',
      'null',
      '{"spec":{"selector":7}}',
      '{"__proto__":{"spec":1}}',
      `${'['.repeat(50_000)}`,
    ]) {
      const service = toys.get('Service', 'g-one')!
      const annotations = { ...service.metadata.annotations, 'skylab/last': last }
      toys.put('one', { image: `app:${last.length}` })
      toys.api.put({ ...service, metadata: { ...service.metadata, annotations } })
      await toys.pass(2_000)
      const after = toys.get('Service', 'g-one')!
      expect([after.metadata.annotations, toys.phase('one')]).toEqual([service.metadata.annotations, 'Ready'])
    }
  })

  test.each<[string, object]>([
    ['nothing in it', {}],
    ['other types', { colour: 7, members: 'ada', image: ['x'] }],
    ['names of JavaScript', { colour: '__proto__', members: ['constructor', 'toString'], image: '__proto__' }],
    ['deep lists', { members: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) }],
  ])('goes on with others beside a parent with %s', async (_what, spec) => {
    toys.replica()
    const known = toys.put('bad')
    toys.api.put({ ...known, spec })
    toys.put('good')
    await toys.pass(1_000)
    expect(toys.phase('good')).toBe('Ready')
  })

  test('goes on with others beside a parent for which the kind throws', async () => {
    const change = (kind: AnyKind): AnyKind => ({
      ...kind,
      desired: (key, ...args) => {
        if (key === 'n/bad') throw new Error('a defect')
        return kind.desired(key, ...args)
      },
    })
    toys.replica({ change: change as never, room: 1 })
    toys.put('bad')
    toys.put('good')
    await toys.pass(60_000)
    expect(toys.phase('good')).toBe('Ready')
    expect(toys.log.messages).toEqual(['error: a turn of a custom resource failed'])
  })
})
