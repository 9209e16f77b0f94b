import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Acceptance } from './acceptance.ts'

/** An acceptance, and a pause that is looked at. */
function accepting() {
  const clock = new ManualClock()
  const acceptance = new Acceptance(clock)
  const settled = () => new Promise(resolve => setImmediate(resolve))
  return {
    acceptance,
    settled,
    pass: async (ms: number) => {
      clock.advance(ms)
      await settled()
    },
    pause: () => {
      const state = { over: false }
      void acceptance.pause().then(() => {
        state.over = true
      })
      return state
    },
  }
}

describe('Acceptance.pause', () => {
  test('resolves at once while nothing is being accepted', async () => {
    await new Acceptance(new ManualClock()).pause()
  })

  test('resolves with the answer to a request that is alone', async () => {
    const { acceptance, pause, pass, settled } = accepting()
    const request = Promise.withResolvers<void>()
    const accepted = acceptance.during(() => request.promise)
    const paused = pause()
    await pass(20)
    expect(paused.over).toBe(false)
    request.reject(new Error('refused'))
    await expect(accepted).rejects.toThrow('refused')
    await settled()
    expect(paused.over).toBe(true)
  })

  test('lasts 40 ms after a request that comes after a silence', async () => {
    const { acceptance, pause, pass } = accepting()
    for (let i = 0; i < 2; i++) {
      acceptance.announce()
      const paused = pause()
      await pass(39)
      expect(paused.over).toBe(false)
      await pass(1)
      expect(paused.over).toBe(true)
      await pass(461)
    }
  })

  test('resolves at once after requests that come 14 ms after each other', async () => {
    const { acceptance, pass } = accepting()
    acceptance.announce()
    await pass(40)
    for (let i = 0; i < 10; i++) {
      acceptance.announce()
      await acceptance.during(async () => {})
      await acceptance.pause()
      await pass(14)
    }
  })

  test('lasts until no request has followed a crowd for 40 ms', async () => {
    const { acceptance, pause, pass } = accepting()
    for (let i = 0; i < 4; i++) acceptance.announce()
    const paused = pause()
    await pass(39)
    expect(paused.over).toBe(false)
    acceptance.announce()
    await pass(39)
    expect(paused.over).toBe(false)
    await pass(1)
    expect(paused.over).toBe(true)
    await acceptance.pause()
  })

  test('lasts while a request of a crowd has no answer', async () => {
    const { acceptance, pause, pass, settled } = accepting()
    const slow = Promise.withResolvers<void>()
    for (let i = 0; i < 4; i++) acceptance.announce()
    const both = [acceptance.during(() => slow.promise), acceptance.during(async () => {})]
    const paused = pause()
    await pass(100)
    expect(paused.over).toBe(false)
    slow.resolve()
    await Promise.all(both)
    await settled()
    expect(paused.over).toBe(true)
  })

  test('lasts at most 600 ms, however many requests come', async () => {
    const { acceptance, pause, pass } = accepting()
    void acceptance.during(() => new Promise(() => {}))
    const paused = pause()
    await pass(599)
    expect(paused.over).toBe(false)
    await pass(1)
    expect(paused.over).toBe(true)
  })
})
