import { expect, test } from 'vitest'
import { Pace } from './pace.ts'

function paceAfter(...answers: readonly (readonly [number, number])[]): number {
  const pace = new Pace(2, 12)
  for (const [ms, count] of answers) for (let i = 0; i < count; i += 1) pace.answered(ms)
  return pace.limit
}

test('Pace allows all turns while answers take as long as they always did, however long that is', () => {
  expect([paceAfter(), paceAfter([5, 1_000]), paceAfter([70, 1_000]), paceAfter([900, 1_000])]).toEqual([
    12, 12, 12, 12,
  ])
})

test('Pace allows fewer turns where answers take several times as long, down to its least', () => {
  expect(paceAfter([10, 100], [300, 32])).toBe(10)
  expect(paceAfter([10, 100], [300, 500])).toBe(2)
})

test('Pace allows all again when answers are quick again', () => {
  expect(paceAfter([10, 100], [300, 500], [30, 500])).toBe(12)
})

test('Pace does not mind some answers that hang', () => {
  const pace = new Pace(2, 12)
  for (let i = 0; i < 1_000; i += 1) pace.answered(i % 3 === 0 ? 10_000 : 10)
  expect(pace.limit).toBe(12)
})
