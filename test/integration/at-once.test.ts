/** Many simultaneous requests for one lab, and repeated requests. */
import { expect, test } from 'vitest'
import type { Answer } from '../kit/fleet/client.ts'
import { defaultOptions } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

/** Long time-out of Redis: 500 requests at once, beside other tests, are more than a small machine does in a second. */
const fleet = useFleet({ config: { redis: { commandTimeoutMs: 5000 }, engine: { leaseTtlMs: 15_000 } } })

function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('three replicas accept one of 500 simultaneous creates', async () => {
  const user = fleet().user()
  const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => user.at(fleet().url(i % 3)).create()))
  expect(tally(answers)).toEqual({ 303: 1, 409: 499 })
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  const writes = await fleet().audit.writesOf(fleet().namespace(user.username))
  expect(writes).toHaveLength(8)
  expect(new Set(writes.map(write => write.op))).toEqual(new Set([op]))
})

test('60 simultaneous deletes become one deletion', async () => {
  const user = fleet().user()
  await user.create()
  await user.follow()
  const { admin } = fleet()
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) => admin.at(fleet().url(i % 3)).delete(user.username)),
  )
  expect(tally(answers)).toEqual({ 202: 60 })
  const { op } = await user.follow()
  const writes = await fleet().audit.writesOf(fleet().namespace(user.username))
  expect(writes.filter(write => write.op === op).map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
    'delete pods',
    'delete namespaces',
  ])
})

test('a create repeated with its Idempotency-Key gets the first answer again, from any replica', async () => {
  const user = fleet().user()
  const first = await user.create(defaultOptions, { key: 'one' })
  const repeats = await Promise.all(fleet().urls.map(url => user.at(url).create(defaultOptions, { key: 'one' })))
  for (const { status, headers } of [first, ...repeats]) {
    expect(status).toBe(303)
    expect(headers.get('location')).toBe(first.headers.get('location'))
  }
  const { op, outcome } = await user.follow()
  expect(outcome).toBe('complete')
  expect((await user.create(defaultOptions, { key: 'one' })).status).toBe(303)
  expect((await user.follow()).op).toBe(op)
  expect((await user.create(defaultOptions, { key: 'two' })).status).toBe(409)
})

test('100 simultaneous creates with one Idempotency-Key become one creation, and all get its answer', async () => {
  const user = fleet().user()
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) => user.at(fleet().url(i % 3)).create(defaultOptions, { key: 'same' })),
  )
  expect(tally(answers)).toEqual({ 303: 100 })
  expect((await user.follow()).outcome).toBe('complete')
  expect(await fleet().audit.writesOf(fleet().namespace(user.username))).toHaveLength(8)
})

test('a replica refuses an Idempotency-Key with another body, and accepts the same body in another order', async () => {
  const user = fleet().user()
  await user.create({ image_type: 'recommended', size: 'small' }, { key: 'k', env: { A: '1', B: '2' } })
  const same = await user.create({ size: 'small', image_type: 'recommended' }, { key: 'k', env: { B: '2', A: '1' } })
  expect(same.status).toBe(303)
  const other = await user.create({ size: 'medium', image_type: 'recommended' }, { key: 'k', env: { A: '1', B: '2' } })
  expect(other).toMatchObject({ status: 422, body: { detail: [{ loc: ['header', 'idempotency-key'] }] } })
})

test('an Idempotency-Key belongs to one user', async () => {
  const [first, second] = [fleet().user(), fleet().user()]
  const answers = [await first.create(defaultOptions, { key: 'k' }), await second.create(defaultOptions, { key: 'k' })]
  expect(tally(answers)).toEqual({ 303: 2 })
  const outcomes = await Promise.all([first.follow(), second.follow()])
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['complete', 'complete'])
})
