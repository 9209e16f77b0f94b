import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { newMemory } from './memory.ts'
import { nextLook } from './next.ts'
import type { TurnEnd } from './turn-end.ts'

const asked = { urgent: false, mayLeave: true }

const next = (end: Omit<TurnEnd, 'writes'>, failures = 0) => {
  const memory = { ...newMemory(), failures }
  return nextLook({ ...end, writes: 0 }, asked, memory, new ManualClock())
}

test('nextLook waits as long as the server asks for, up to a minute, and for a backoff', () => {
  const ms = [5_000, 86_400_000].map(afterMs => next({ result: 'failed', error: new RetryLater('later', afterMs) })!.ms)
  expect([ms[0]! >= 5_000, ms[0]! <= 6_100, ms[1]! <= 61_100]).toEqual([true, true, true])
})

test('nextLook is at once when a turn was over for the first time, and later when it is again', () => {
  expect([next({ result: 'over' })!.ms, next({ result: 'over' }, 1)!.ms > 0]).toEqual([0, true])
})

test('nextLook is none after a turn that has left nothing', () => {
  expect([next({ result: 'done' }), next({ result: 'idle' })]).toEqual([undefined, undefined])
})

test('nextLook after a turn that leaves work to another comes in a second, and counts nothing', () => {
  const memory = { ...newMemory(), failures: 2 }
  expect(nextLook({ result: 'deferred', writes: 0 }, asked, memory, new ManualClock())).toEqual({ ms: 1_000 })
  expect(memory.failures).toBe(2)
})
