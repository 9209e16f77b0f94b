import { expect, test } from 'vitest'
import { absenceMs, isAbsent } from './absence.ts'

test('isAbsent is true when a machine is missing for ten minutes', () => {
  expect(isAbsent(1_000, 1_000 + absenceMs - 1)).toBe(false)
  expect(isAbsent(1_000, 1_000 + absenceMs)).toBe(true)
})

test('isAbsent is false when the last answer showed the machine', () => {
  expect(isAbsent(0, absenceMs * 10)).toBe(false)
})
