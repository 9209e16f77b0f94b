import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { Clock } from '../base/clock.ts'
import { TurnLimit, TurnOver } from './limit.ts'

test('TurnLimit ends a turn by the clock, even if no timer has fired', () => {
  let nowMs = 0
  const clock: Pick<Clock, 'monotonicMs' | 'after'> = { monotonicMs: () => nowMs, after: () => () => {} }
  const limit = new TurnLimit(clock as Clock, 100)
  nowMs = 99
  limit.check()
  nowMs = 100
  expect(() => limit.check()).toThrow(TurnOver)
  expect(limit.signal.aborted).toBe(true)
})

test('TurnLimit ends a turn when the process ends', () => {
  const stopping = new AbortController()
  const limit = new TurnLimit(new ManualClock(), 100, stopping.signal)
  limit.check()
  stopping.abort()
  expect(limit.signal.aborted).toBe(false)
  expect(() => limit.check()).toThrow(TurnOver)
})

test('TurnLimit aborts its signal in time, unless it is released', async () => {
  const clock = new ManualClock()
  const [ended, released] = [new TurnLimit(clock, 100), new TurnLimit(clock, 100)]
  released.release()
  clock.advance(100)
  await Promise.resolve()
  await Promise.resolve()
  expect([ended.signal.aborted, released.signal.aborted]).toEqual([true, false])
})
