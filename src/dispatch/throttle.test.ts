import { expect, test } from 'vitest'
import { afterCreate, calm, quotaOf } from './throttle.ts'

test('afterCreate pauses a type longer with each failure, and forgets that when one is created', () => {
  const fails = { kind: 'NoCapacity', type: 'a' } as const
  let throttle = calm
  const pauses = Array.from({ length: 7 }, () => {
    throttle = afterCreate(throttle, fails, 1000)
    return (throttle.capacity.get('a')!.untilMs - 1000) / 60_000
  })
  expect(pauses).toEqual([1, 2, 4, 8, 16, 16, 16])
  expect(throttle.hurry).toBe(false)
  expect(afterCreate(throttle, { kind: 'created', type: 'b' }, 1000).capacity.size).toBe(1)
  expect(afterCreate(throttle, { kind: 'created', type: 'a' }, 1000)).toEqual(calm)
})

test('afterCreate waits as long as the cloud asks, and hurries until a creation succeeds', () => {
  const limited = afterCreate(calm, { kind: 'RateLimited', untilMs: 5000 }, 1000)
  expect(limited).toMatchObject({ createAfterMs: 5000, hurry: true })
  expect(afterCreate(limited, { kind: 'RateLimited', untilMs: 4000 }, 1000).createAfterMs).toBe(5000)
  expect(afterCreate(limited, { kind: 'created', type: 'a' }, 6000).hurry).toBe(false)
})

test('quotaOf holds until a group has fewer machines, or for a minute when it has none', () => {
  const full = afterCreate(calm, { kind: 'AtQuota', group: 'm', count: 3 }, 0)
  expect([quotaOf(full, 'm', 3, 90_000), quotaOf(full, 'l', 9, 0)]).toEqual([3, Number.POSITIVE_INFINITY])
  const empty = afterCreate(calm, { kind: 'AtQuota', group: 'm', count: 0 }, 0)
  expect([quotaOf(empty, 'm', 0, 59_999), quotaOf(empty, 'm', 0, 60_000)]).toEqual([0, Number.POSITIVE_INFINITY])
})
