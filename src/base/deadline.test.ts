import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Deadline, outcomeWithin, unlessAborted } from './deadline.ts'

describe('Deadline', () => {
  test('fires after its time', async () => {
    const clock = new ManualClock()
    const { signal } = new Deadline(clock, 50)
    const fired = new Promise(resolve => signal.addEventListener('abort', resolve))
    clock.advance(50)
    await fired
    expect(signal.reason).toEqual(new Error('no answer within 50 ms'))
  })

  test('fires after its time since restart', async () => {
    const clock = new ManualClock()
    const deadline = new Deadline(clock, 50)
    const fired = new Promise(resolve => deadline.signal.addEventListener('abort', resolve))
    clock.advance(40)
    deadline.restart()
    clock.advance(40)
    await new Promise(resolve => setImmediate(resolve))
    expect(deadline.signal.aborted).toBe(false)
    clock.advance(10)
    await fired
  })

  test('fires at a check when its time is over, and no timer has fired', () => {
    let nowMs = 0
    const clock = { ...new ManualClock(), monotonicMs: () => nowMs, after: () => () => {} }
    const deadline = new Deadline(clock, 50)
    nowMs = 49
    deadline.check()
    nowMs = 50
    expect(() => deadline.check()).toThrow('no answer within 50 ms')
    expect(deadline.signal.aborted).toBe(true)
  })

  test('fires at no check after stopTimer', () => {
    const clock = new ManualClock()
    const deadline = new Deadline(clock, 50)
    deadline.stopTimer()
    clock.advance(50)
    deadline.check()
  })

  test('fires with another signal, also one that was aborted before', () => {
    const stop = new AbortController()
    const before = new Deadline(new ManualClock(), 50, stop.signal)
    stop.abort('stopped')
    expect(before.signal.reason).toBe('stopped')
    expect(new Deadline(new ManualClock(), 50, stop.signal).signal.reason).toBe('stopped')
  })

  test('follows the other signal after stopTimer, but not after release', () => {
    const stop = new AbortController()
    const following = new Deadline(new ManualClock(), 50, stop.signal)
    const released = new Deadline(new ManualClock(), 50, stop.signal)
    following.stopTimer()
    released.release()
    stop.abort('stopped')
    expect(following.signal.aborted).toBe(true)
    expect(released.signal.aborted).toBe(false)
  })
})

describe('unlessAborted', () => {
  test('settles as the promise or the abort, whichever is first', async () => {
    const stop = new AbortController()
    expect(await unlessAborted(Promise.resolve(1), stop.signal)).toBe(1)
    await expect(unlessAborted(Promise.reject(new Error('own')), stop.signal)).rejects.toThrow('own')
    const never = unlessAborted(new Promise(() => {}), stop.signal)
    stop.abort(new Error('stopped'))
    await expect(never).rejects.toThrow('stopped')
    await expect(unlessAborted(new Promise(() => {}), stop.signal)).rejects.toThrow('stopped')
  })
})

describe('outcomeWithin', () => {
  /** Ends with its signal alone. */
  const endless = (signal: AbortSignal) => unlessAborted(new Promise<string>(() => {}), signal)

  test('returns the value, or the error of the work', async () => {
    const clock = new ManualClock()
    expect(await outcomeWithin(clock, 50, undefined, async () => 'done')).toBe('done')
    const failure = new Error('own')
    expect(await outcomeWithin(clock, 50, undefined, () => Promise.reject(failure))).toBe(failure)
    expect(clock.sleeping).toBe(0)
  })

  test('returns an error when the time is over', async () => {
    const clock = new ManualClock()
    const outcome = outcomeWithin(clock, 50, new AbortController().signal, endless)
    clock.advance(50)
    expect(await outcome).toEqual(new Error('no answer within 50 ms'))
  })

  test('rejects with the reason of the caller’s signal, also for work that fails by it', async () => {
    const stop = new AbortController()
    const outcome = outcomeWithin(new ManualClock(), 50, stop.signal, signal =>
      endless(signal).catch(() => Promise.reject(new Error('own'))),
    )
    stop.abort('stopped')
    await expect(outcome).rejects.toBe('stopped')
  })
})
