import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

test('backoffMs doubles from the base, and stays within the cap', () => {
  const wait = { baseMs: 100, capMs: 1_000 }
  expect([1, 2, 3, 4, 5, 60, 2_000].map(failures => backoffMs(failures, wait, () => 1))).toEqual([
    100, 200, 400, 800, 1_000, 1_000, 1_000,
  ])
  expect(backoffMs(0, wait, () => 1)).toBe(100)
})

test('backoffMs spreads over the upper half', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const full = backoffMs(failures, { baseMs: 10, capMs: 5_000 }, () => 1)
      const waited = backoffMs(failures, { baseMs: 10, capMs: 5_000 }, () => random)
      expect(waited).toBeGreaterThanOrEqual(full / 2)
      expect(waited).toBeLessThanOrEqual(full)
    }),
  )
})
