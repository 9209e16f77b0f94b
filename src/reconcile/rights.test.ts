/** Revocations and restrictions against people who fight them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Samples } from './testing/samples.ts'
import type { Hold, Kind } from './types.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const binding = () => samples.get('RoleBinding', 's-one')
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
  samples.replica({ change: change as never })
  samples.put('one', { members })
  await samples.pass(1_000)
  expect(binding()?.subjects).toHaveLength(members.length)
  samples.written()
}

/** Somebody writes the RoleBinding before each write of it. */
function writeBefore(): { times: number } {
  const writes = { times: 0 }
  samples.api.onWrite = (_verb, { kind }) => {
    const before = binding()
    if (kind !== 'RoleBinding' || !before || writes.times > 300) return
    writes.times += 1
    samples.api.put({ ...before, metadata: { ...before.metadata, labels: { times: String(writes.times) } } })
  }
  return writes
}

describe('Reconciler and rights', () => {
  test.each([[['ada']], [[]]])(
    'takes a right from who writes its object before each write, leaving %j',
    async members => {
      await give(['ada', 'eve'])
      const writes = writeBefore()
      samples.put('one', { members })
      await samples.pass(1_000)
      expect([subjects().includes('eve'), writes.times < 20]).toEqual([false, true])
      samples.api.onWrite = () => {}
      await samples.pass(60_000)
      expect([samples.phase('one'), subjects().includes('ada')]).toEqual(['Ready', members.length > 0])
    },
  )

  test('keeps no other owner at an object of rights', async () => {
    await give(['ada'])
    const mine = { apiVersion: 'v1', kind: 'ConfigMap', name: 'mine', uid: 'x' }
    const { metadata } = binding()!
    samples.api.put({ ...binding()!, metadata: { ...metadata, ownerReferences: [...metadata.ownerReferences!, mine] } })
    await samples.pass(500)
    expect(binding()!.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['Sample'])
  })

  test('empties an object of rights before it removes it', async () => {
    await give(['ada'])
    samples.put('one', { members: [] })
    await samples.pass(500)
    const writes = samples.written().filter(write => write.includes('RoleBinding'))
    expect(writes).toEqual(['patch RoleBinding s-one', 'delete RoleBinding s-one'])
  })

  test('takes rights also from an object whose end a finalizer holds up', async () => {
    await give(['ada'])
    const { metadata } = binding()!
    samples.api.put({ ...binding()!, metadata: { ...metadata, deletionTimestamp: '2026-11-22T10:00:00Z' } })
    samples.put('one', { members: [] })
    await samples.pass(500)
    expect(subjects()).toBe('[]')
  })

  test('takes rights from the objects of a parent whose end a finalizer holds up', async () => {
    await give(['ada'])
    samples.put('one', { members: ['ada'] }, { deletionTimestamp: '2026-11-22T10:00:00Z' })
    await samples.pass(500)
    expect(samples.names('RoleBinding')).toEqual([])
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
    samples.put('one', { members: ['ada', 'bob'], image: 'app:2' })
    await samples.pass(1_000)
    expect([subjects().includes('eve'), subjects().includes('bob')]).toEqual([false, false])
    expect(samples.written()).toEqual(['patch RoleBinding s-one', 'status Sample one'])
    expect(told.at(-1)).toBe('the policy is missing')
  })
})

describe('Reconciler and restrictions', () => {
  const restricting = holding(({ objects }) => ({
    objects: objects.map(wish => (wish.object.kind === 'Deployment' ? { ...wish, restricts: true } : wish)),
  }))
  const remove = () => samples.api.remove({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'n', name: 's-one' })

  test('makes what restricts again within a second, however often it is removed', async () => {
    await give(['ada'], restricting)
    for (let i = 0; i < 10; i += 1) {
      remove()
      await samples.pass(1_400)
      expect(samples.names('Deployment')).toEqual(['s-one'])
    }
    expect(samples.phase('one')).toBe('Contended')
  })

  test('makes what restricts again at most once a second, however often it is removed', async () => {
    await give(['ada'], restricting)
    for (let i = 0; i < 100; i += 1) {
      remove()
      await samples.pass(100)
    }
    expect(samples.written().filter(write => write === 'create Deployment s-one').length).toBeLessThan(3 + 11)
  })

  test('corrects what restricts before it gives anything, while another has the lease', async () => {
    await give(['ada'], restricting)
    samples.leases.held.add('sample:n/one')
    remove()
    samples.put('one', { members: ['ada', 'bob'] })
    await samples.pass(1_000)
    expect([samples.names('Deployment'), subjects().includes('bob')]).toEqual([['s-one'], false])
  })
})
