import { expect, test } from 'vitest'
import { absenceMs, afterLook, isAbsent, neverSeen, type Sighting } from './absence.ts'
import type { Instance } from './driver.ts'

const instance: Instance = { id: 'i-1', address: undefined, providerType: 'm', tags: {}, state: 'running' }
const seen: Sighting = { seen: true }

test('isAbsent is true when a machine that was seen is missing for ten minutes', () => {
  const first = afterLook(seen, 'unknown', true, 1_000)
  const second = afterLook(first, 'unknown', true, 500_000)
  expect(isAbsent(second, 1_000 + absenceMs - 1)).toBe(false)
  expect(isAbsent(second, 1_000 + absenceMs)).toBe(true)
})

test('isAbsent is false when the machine was never seen: it may come late', () => {
  expect(isAbsent(afterLook(neverSeen, 'unknown', true, 0), absenceMs * 10)).toBe(false)
})

test('afterLook begins anew when the machine shows up in between', () => {
  const missing = afterLook(seen, 'unknown', true, 0)
  const back = afterLook(missing, instance, false, 300_000)
  expect(back).toEqual(seen)
  expect(isAbsent(afterLook(back, 'unknown', true, 600_000), 600_000)).toBe(false)
})

test('afterLook begins anew when a machine is there without our tag', () => {
  const missing = afterLook(seen, 'unknown', true, 0)
  expect(afterLook(missing, 'unknown', false, 300_000)).toEqual(seen)
})

test('afterLook takes the earlier time when the clock goes back', () => {
  const missing = afterLook(seen, 'unknown', true, 1_000_000)
  expect(afterLook(missing, 'unknown', true, 5_000).missingSinceMs).toBe(5_000)
})
