import { expect, test } from 'vitest'
import type { Result } from '../reconcile/types.ts'
import { tenantStatus } from './status.ts'
import { people, Tenants } from './testing/replicas.ts'

const settled: Result = {
  ...{ settled: true, made: true },
  conflicts: [],
  awaited: [],
  failure: undefined,
  due: [],
  onlyRevocations: undefined,
  contended: false,
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

/** The conditions of a tenant whose objects stand. */
async function conditions(result: Partial<Result>, laterMs = 0): Promise<readonly Condition[]> {
  const tenants = new Tenants()
  const { world } = tenants.replica()
  await tenants.made('a', people)
  await tenants.stop()
  tenants.unguarded = result.onlyRevocations
  const patch = tenantStatus('a', world, { ...settled, ...result }, tenants.clock.wallMs() + laterMs)
  return patch!.status.conditions as readonly Condition[]
}

const reasons = async (result: Partial<Result>) => (await conditions(result)).map(({ reason }) => reason)

test.each([
  [{}, ['Accepted', 'Made', 'Granted', 'Ready']],
  [{ made: false }, ['Accepted', 'Made', 'Waiting', 'Waiting']],
  [{ made: false, failure: 'RoleBinding: no' }, ['Accepted', 'Made', 'Refused', 'Refused']],
  [{ made: false, contended: true }, ['Accepted', 'Made', 'Contended', 'Contended']],
  [{ contended: true }, ['Accepted', 'Made', 'Granted', 'Contended']],
  [{ made: false, onlyRevocations: 'none' }, ['PolicyMissing', 'Made', 'PolicyMissing', 'PolicyMissing']],
  [{ onlyRevocations: 'none' }, ['PolicyMissing', 'Made', 'Granted', 'PolicyMissing']],
])('tenantStatus tells of %j the reasons %j', async (result, expected) => {
  expect(await reasons(result)).toEqual(expected)
})

test('tenantStatus tells why a write was refused', async () => {
  const failure = 'RoleBinding: forbidden by a webhook'
  expect((await conditions({ made: false, failure })).at(-1)).toMatchObject({ status: 'False', message: failure })
})

test('tenantStatus keeps the time of a condition that is as it was, and tells when another one changed', async () => {
  const [before, after] = await Promise.all([conditions({}), conditions({ made: false }, 60_000)])
  const times = (all: readonly Condition[]) => all.map(({ lastTransitionTime }) => lastTransitionTime)
  expect(times(after).slice(0, 2)).toEqual(times(before).slice(0, 2))
  expect(times(after).slice(2)).not.toEqual(times(before).slice(2))
})

test('tenantStatus tells nothing while policies are missing for a moment', async () => {
  const tenants = new Tenants()
  const { world } = tenants.replica()
  await tenants.made('a', people)
  await tenants.stop()
  const momentary = { ...world, longUnguarded: () => undefined }
  expect(tenantStatus('a', momentary, { ...settled, onlyRevocations: 'none' }, tenants.clock.wallMs())).toBeUndefined()
})
