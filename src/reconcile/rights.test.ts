/** Whoever holds a right, or is held by a restriction, against its end. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Toys } from './testing/toys.ts'
import type { Hold, Kind } from './types.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const binding = () => toys.get('RoleBinding', 'g-one')
const subjects = () => JSON.stringify(binding()?.subjects ?? [])

/** The kind with other verdicts. */
const holding =
  (change: (verdict: Hold) => Partial<Hold>) =>
  (kind: Kind<never>): Kind<never> => ({
    ...kind,
    desired: (...args) => {
      const verdict = kind.desired(...args)
      return verdict.do === 'hold' ? { ...verdict, ...change(verdict) } : verdict
    },
  })

async function give(members: readonly string[], change = (kind: Kind<never>) => kind): Promise<void> {
  toys.replica({ change: change as never })
  toys.put('one', { members })
  await toys.pass(1_000)
  expect(binding()?.subjects).toHaveLength(members.length)
  toys.written()
}

/** Somebody writes the RoleBinding before each write of it. */
function writeBefore(): { times: number } {
  const writes = { times: 0 }
  toys.api.onWrite = (_verb, { kind }) => {
    const before = binding()
    if (kind !== 'RoleBinding' || !before || writes.times > 300) return
    writes.times += 1
    toys.api.put({ ...before, metadata: { ...before.metadata, labels: { times: String(writes.times) } } })
  }
  return writes
}

describe('Reconciler and rights', () => {
  test.each([[['ada']], [[]]])(
    'takes a right from who writes its object before each write, leaving %j',
    async members => {
      await give(['ada', 'eve'])
      const writes = writeBefore()
      toys.put('one', { members })
      await toys.pass(1_000)
      expect([subjects().includes('eve'), writes.times < 20]).toEqual([false, true])
      toys.api.onWrite = () => {}
      await toys.pass(60_000)
      expect([toys.phase('one'), subjects().includes('ada')]).toEqual(['Ready', members.length > 0])
    },
  )

  test('keeps no other owner at an object of rights', async () => {
    await give(['ada'])
    const mine = { apiVersion: 'v1', kind: 'ConfigMap', name: 'mine', uid: 'x' }
    const { metadata } = binding()!
    toys.api.put({ ...binding()!, metadata: { ...metadata, ownerReferences: [...metadata.ownerReferences!, mine] } })
    await toys.pass(500)
    expect(binding()!.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['Gadget'])
  })

  test('empties an object of rights before it removes it', async () => {
    await give(['ada'])
    toys.put('one', { members: [] })
    await toys.pass(500)
    const writes = toys.written().filter(write => write.includes('RoleBinding'))
    expect(writes).toEqual(['patch RoleBinding g-one', 'delete RoleBinding g-one'])
  })

  test('takes rights also from an object whose end a finalizer holds up', async () => {
    await give(['ada'])
    const { metadata } = binding()!
    toys.api.put({ ...binding()!, metadata: { ...metadata, deletionTimestamp: '2026-11-22T10:00:00Z' } })
    toys.put('one', { members: [] })
    await toys.pass(500)
    expect(subjects()).toBe('[]')
  })

  test('takes rights from the objects of a parent whose end a finalizer holds up', async () => {
    await give(['ada'])
    toys.put('one', { members: ['ada'] }, { deletionTimestamp: '2026-11-22T10:00:00Z' })
    await toys.pass(500)
    expect(toys.names('RoleBinding')).toEqual([])
  })

  test('only takes away while nothing may be given, and says why', async () => {
    let why: string | undefined
    const told: unknown[] = []
    const closed = (kind: Kind<never>): Kind<never> => ({
      ...holding(() => (why === undefined ? {} : { onlyRevocations: why }))(kind),
      report: (key, world, result, nowMs) => {
        told.push(result.onlyRevocations)
        return kind.report(key, world, result, nowMs)
      },
    })
    await give(['ada', 'eve'], closed)
    why = 'the policy is missing'
    toys.put('one', { members: ['ada', 'bob'], image: 'app:2' })
    await toys.pass(1_000)
    expect([subjects().includes('eve'), subjects().includes('bob')]).toEqual([false, false])
    expect(toys.written()).toEqual(['patch RoleBinding g-one', 'status Gadget one'])
    expect(told.at(-1)).toBe('the policy is missing')
  })
})

describe('Reconciler and restrictions', () => {
  const restricting = holding(({ objects }) => ({
    objects: objects.map(wish => (wish.object.kind === 'Deployment' ? { ...wish, restricts: true } : wish)),
  }))
  const remove = () => toys.api.remove({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'n', name: 'g-one' })

  test('makes what restricts again within a second, however often it is removed', async () => {
    await give(['ada'], restricting)
    for (let i = 0; i < 10; i += 1) {
      remove()
      await toys.pass(1_400)
      expect(toys.names('Deployment')).toEqual(['g-one'])
    }
    expect(toys.phase('one')).toBe('Contended')
  })

  test('makes what restricts again at most once a second, however often it is removed', async () => {
    await give(['ada'], restricting)
    for (let i = 0; i < 100; i += 1) {
      remove()
      await toys.pass(100)
    }
    expect(toys.written().filter(write => write === 'create Deployment g-one').length).toBeLessThan(3 + 11)
  })

  test('corrects what restricts before it gives anything, while another has the lease', async () => {
    await give(['ada'], restricting)
    toys.leases.held.add('gadget:n/one')
    remove()
    toys.put('one', { members: ['ada', 'bob'] })
    await toys.pass(1_000)
    expect([toys.names('Deployment'), subjects().includes('bob')]).toEqual([['g-one'], false])
  })
})
