import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BillEntry, type Billing, billingText } from '../base/bill.ts'
import { RetryLater } from '../base/errors.ts'
import { tenantBilling } from '../config/billing.ts'
import { factOf } from '../reconcile/facts.ts'
import type { Result } from '../reconcile/types.ts'
import { type BillingWorld, billingOf, type Told } from './billing.ts'
import { tenantStatus } from './status.ts'
import { people, Tenants } from './testing/replicas.ts'
import { lnamespace } from './testing/world.ts'
import { projectionOf, tenantWatches } from './watches.ts'
import { tenantAnnotations } from './words.ts'

const configOf = (defaults: object[] = []) => tenantBilling.parse({ driver: 'sqlite', defaults })

function fact(billing: unknown, { requester, groups }: { requester?: string; groups?: string } = {}) {
  const annotations = {
    ...(requester !== undefined && { [tenantAnnotations.requester]: requester }),
    ...(groups !== undefined && { [tenantAnnotations.requesterGroups]: groups }),
  }
  const object = lnamespace('blue', { spec: { billing }, metadata: { annotations, uid: 'u1', resourceVersion: '1' } })
  return factOf(object, tenantWatches.lnamespaces.paths)
}

const rules = [
  { users: ['ada'], billing: { fund: 'ada’s', a: '1' } },
  { groups: ['physics', 'chemistry'], billing: { fund: 'science' } },
  { billing: { fund: 'common' } },
]

describe('billingOf', () => {
  test.each([
    ['the requester’s', { requester: 'ada', groups: 'physics' }, { fund: 'ada’s', a: '1' }],
    ['that of a group', { requester: 'max', groups: 'chess\nchemistry' }, { fund: 'science' }],
    ['that for all', { requester: 'max', groups: 'chess' }, { fund: 'common' }],
    ['that for all', {}, { fund: 'common' }],
  ])('takes the first default that fits: %s', (_, who, expected) => {
    expect(billingOf(fact(undefined, who), configOf(rules))).toEqual(expected)
  })

  test('lets the LNamespace say otherwise, key by key', () => {
    const billing = { fund: 'mine', b: '2' }
    expect(billingOf(fact(billing, { requester: 'ada' }), configOf(rules))).toEqual({ a: '1', b: '2', fund: 'mine' })
  })

  test('has nothing without defaults and without a word of the LNamespace', () => {
    expect(billingOf(fact(undefined), configOf())).toEqual({})
  })

  test.each([
    ['is no text', { a: 1, b: '2' }, { b: '2' }],
    ['has a key that the definition refuses', { 'A b': '1', ['k'.repeat(64)]: '1', b: '2' }, { b: '2' }],
    ['has a character that no table keeps', { a: 'x\u0000y\u202Ez' }, { a: 'x\u{FFFD}y\u{FFFD}z' }],
    ['has half a character', { a: 'x\uD83E' }, { a: 'x\u{FFFD}' }],
    ['is too long', { a: '🧾'.repeat(300) }, { a: '🧾'.repeat(256) }],
    ['is no object', 'x', {}],
  ])('keeps within the bounds what was stored before them, where a value %s', (_, billing, expected) => {
    expect(billingOf(fact(billing), configOf())).toEqual(expected)
  })

  test('never throws, and never has more than a table takes', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (billing, groups) => {
        const found = Object.entries(billingOf(fact(billing, { groups }), configOf(rules)))
        expect(found.length).toBeLessThanOrEqual(32)
        for (const [, value] of found) expect([...value].length).toBeLessThanOrEqual(256)
      }),
    )
  })
})

/** Bills of a replica whose sender is the test. */
class Bills implements BillingWorld {
  readonly config = configOf(rules)
  readonly put: BillingWorld['put']
  readonly puts: BillEntry[] = []
  known: Told | undefined
  trouble: Error | undefined

  constructor() {
    this.put = async entry => {
      if (this.trouble) throw this.trouble
      this.puts.push(entry)
    }
  }

  told = () => this.known
}

const result: Result = {
  ...{ settled: true, made: true, conflicts: [], awaited: [], failure: undefined, due: [] },
  ...{ onlyRevocations: undefined, contended: false },
}

async function billed() {
  const tenants = new Tenants()
  const bills = new Bills()
  tenants.billing = bills
  const { world, tenants: reconciler } = tenants.replica()
  const uid = await tenants.made('a', people)
  const condition = (more: Partial<Result> = {}) => {
    const patch = tenantStatus('a', world, { ...result, ...more }, tenants.clock.wallMs())
    const all = patch!.status.conditions as { type: string; status: string; reason: string; message: string }[]
    return all.find(({ type }) => type === 'Billed')
  }
  const tell = async (told: Told | undefined) => {
    bills.known = told
    reconciler.poke('a')
    await tenants.pass()
  }
  return { tenants, bills, uid, condition, tell }
}

const written = (billing: Billing): Told => ({ is: 'written', text: billingText(billing) })

describe('the bill of an LNamespace', () => {
  test('is put once for each generation, with what is in effect, which status and Namespace have too', async () => {
    const { tenants, bills, uid } = await billed()
    await tenants.pass(5_000)
    expect(bills.puts).toEqual([{ uid, name: 'a', generation: 1, revision: 0, billing: { fund: 'common' } }])
    tenants.declare('a', { spec: { ...people, billing: { b: '2' } } })
    await tenants.pass()
    expect(bills.puts.slice(1)).toMatchObject([{ generation: 2, billing: { b: '2', fund: 'common' } }])
    expect(tenants.get('LNamespace', 'a')!.status).toMatchObject({ billing: { b: '2', fund: 'common' } })
    const annotation = () => tenants.get('Namespace', 'a')!.metadata.annotations?.[tenantAnnotations.billing]
    expect(JSON.parse(annotation()!)).toEqual({ b: '2', fund: 'common' })
    tenants.declare('a', { spec: people })
    await tenants.pass()
    expect(tenants.get('LNamespace', 'a')!.status).toMatchObject({ billing: { fund: 'common' } })
    expect(Object.keys((tenants.get('LNamespace', 'a')!.status as { billing: object }).billing)).toEqual(['fund'])
    await tenants.stop()
  })

  test('is told by the replica that sends, and left alone by others', async () => {
    const { tenants, condition, tell } = await billed()
    expect(condition()).toMatchObject({ status: 'False', reason: 'Waiting' })
    await tell({ is: 'not', reason: 'Unreachable', message: 'away' })
    expect(condition()).toMatchObject({ status: 'False', reason: 'Unreachable', message: 'away' })
    await tell(undefined)
    expect(condition()).toMatchObject({ status: 'False', reason: 'Unreachable', message: 'away' })
    await tell(written({ fund: 'common' }))
    await tell(undefined)
    expect(condition()).toMatchObject({ status: 'True', reason: 'Billed' })
    expect(tenants.isReady('a')).toBe(true)
    await tenants.stop()
  })

  test('costs nothing where the status has it, whoever begins anew', async () => {
    const { tenants, bills, tell } = await billed()
    await tell(written({ fund: 'common' }))
    await tell(undefined)
    const [before, asked] = [bills.puts.length, tenants.leases.asked]
    tenants.written()
    tenants.replica()
    await tenants.pass(5_000)
    expect([tenants.written(), bills.puts.length, tenants.leases.asked]).toEqual([[], before, asked])
    await tenants.stop()
  })

  test('is not that of an older generation, or of other defaults', async () => {
    const { tenants, condition, tell } = await billed()
    await tell(written({ fund: 'common' }))
    tenants.declare('a', { spec: { ...people, billing: { b: '2' } } })
    await tenants.pass()
    expect(condition()).toMatchObject({ status: 'False', reason: 'Waiting' })
    await tell(undefined)
    expect(condition()).toMatchObject({ status: 'False', reason: 'Waiting' })
    await tenants.stop()
  })

  test('keeps nobody from a right while Redis is silent, and says so', async () => {
    const { tenants, bills, condition } = await billed()
    bills.trouble = new RetryLater('Redis does not answer')
    tenants.declare('a', { spec: { ...people, users: [{ kind: 'User', name: 'eve' }] } })
    await tenants.pass()
    expect(tenants.subjects('RoleBinding', 'lns-developer', 'a')).toEqual(['eve'])
    expect(tenants.trouble('a')).toEqual(['Billed: Waiting'])
    expect(condition({ due: ['billing'], settled: false })).toMatchObject({ message: 'Redis does not answer' })
    await tenants.stop()
  })

  test('keeps nobody from a new namespace while Redis is silent', async () => {
    const { tenants, bills } = await billed()
    tenants.replica()
    bills.trouble = new RetryLater('Redis does not answer')
    tenants.leases.silent = true
    tenants.declare('b', { spec: people })
    await tenants.pass(3_000)
    expect(tenants.trouble('b')).toEqual(['Billed: Waiting'])
    bills.trouble = undefined
    tenants.leases.silent = false
    await tenants.pass(6_000)
    expect(bills.puts.map(({ name }) => name)).toContain('b')
    await tenants.stop()
  })

  test('is put for nobody who is refused, unless he has a namespace already', async () => {
    const tenants = new Tenants()
    const bills = new Bills()
    tenants.billing = bills
    tenants.replica()
    tenants.declare('kube-x', { spec: people })
    await tenants.pass()
    expect(bills.puts).toEqual([])
    expect(tenants.trouble('kube-x')).not.toContain('Billed: Waiting')
    await tenants.made('a', people)
    tenants.declare('a', { spec: { ...people, istioRevision: '!' } })
    await tenants.pass()
    expect(bills.puts.map(({ name, generation }) => `${name} ${generation}`)).toEqual(['a 1', 'a 2'])
    await tenants.stop()
  })

  test('leaves nothing behind when it is switched off', async () => {
    const { tenants, tell } = await billed()
    await tell(written({ fund: 'common' }))
    await tenants.stop()
    tenants.billing = undefined
    tenants.replica()
    await tenants.pass()
    const { status } = tenants.get('LNamespace', 'a')!
    expect(status).not.toHaveProperty('billing')
    expect(JSON.stringify(status)).not.toContain('Billed')
    expect(tenants.get('Namespace', 'a')!.metadata.annotations ?? {}).toEqual({})
    await tenants.stop()
  })
})

test('a projection keeps what bills need of an LNamespace and of its Namespace', () => {
  const project = projectionOf('lnamespaces', [])
  const object = lnamespace('blue', { spec: { billing: { a: '1' } }, requester: 'ada' })
  const found = project({ ...object, metadata: { ...object.metadata, uid: 'u', resourceVersion: '1', generation: 3 } })
  expect(billingOf(found, configOf(rules))).toEqual({ a: '1', fund: 'ada’s' })
})
