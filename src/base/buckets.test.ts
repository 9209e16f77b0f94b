import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Buckets } from './buckets.ts'

function bucketsOf(perSecond: number, burst: number) {
  const clock = new ManualClock()
  return { clock, buckets: new Buckets({ perSecond, burst }, clock) }
}

it('Buckets give the burst at once, then a token for each part of a second', () => {
  const { clock, buckets } = bucketsOf(4, 3)
  expect([1, 2, 3, 4].map(() => buckets.take('ada'))).toEqual([0, 0, 0, expect.closeTo(250, 1)])
  clock.advance(249)
  expect(buckets.take('ada')).toBeCloseTo(1, 1)
  clock.advance(1)
  expect([buckets.take('ada'), buckets.take('ada') > 0]).toEqual([0, true])
})

it('Buckets take nothing on a refusal, so that the returned wait is right', () => {
  const { clock, buckets } = bucketsOf(10 / 60, 20)
  for (let n = 0; n < 20; n++) buckets.take('ada')
  const waitMs = buckets.take('ada')
  for (let n = 0; n < 1000; n++) expect(buckets.take('ada')).toBe(waitMs)
  clock.advance(waitMs)
  expect(buckets.take('ada')).toBe(0)
})

it('Buckets hold no more than the burst, however long nothing is taken', () => {
  const { clock, buckets } = bucketsOf(1, 2)
  buckets.take('ada')
  clock.advance(3_600_000)
  expect([1, 2, 3].map(() => buckets.take('ada') > 0)).toEqual([false, false, true])
})

it('Buckets accept a token that is given back, but never exceed the burst', () => {
  const { buckets } = bucketsOf(0.001, 2)
  expect([buckets.take('ada'), buckets.take('ada')]).toEqual([0, 0])
  buckets.giveBack('ada')
  expect([buckets.take('ada') > 0, buckets.take('ada') > 0]).toEqual([false, true])
  for (let n = 0; n < 9; n++) buckets.giveBack('ada')
  expect([1, 2, 3].map(() => buckets.take('ada') > 0)).toEqual([false, false, true])
})

it('Buckets of two users are independent', () => {
  const { buckets } = bucketsOf(1, 1)
  expect([buckets.take('ada'), buckets.take('ada') > 0, buckets.take('grace')]).toEqual([0, true, 0])
})

it('Buckets forget a bucket that is full again', () => {
  const { clock, buckets } = bucketsOf(1, 2)
  for (let n = 0; n < 1000; n++) buckets.take(`user-${n}`)
  expect(buckets.size).toBe(1000)
  clock.advance(1999)
  buckets.take('user-0')
  expect(buckets.size).toBe(1000)
  clock.advance(1)
  buckets.take('user-1')
  expect(buckets.size).toBe(2)
})

it('Buckets are full until something is taken, and again after their time', () => {
  const { clock, buckets } = bucketsOf(1, 2)
  expect(buckets.isFull('ada')).toBe(true)
  buckets.take('ada')
  expect([buckets.isFull('ada'), buckets.isFull('bob')]).toEqual([false, true])
  clock.advance(1000)
  expect(buckets.isFull('ada')).toBe(true)
})
