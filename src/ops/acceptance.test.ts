import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Acceptance } from './acceptance.ts'

function observed(promise: Promise<void>) {
  const state = { over: false }
  promise.then(() => {
    state.over = true
  })
  return state
}

const settled = () => new Promise(resolve => setImmediate(resolve))

describe('Acceptance', () => {
  test('pause resolves at once while nothing is being accepted', async () => {
    await new Acceptance(new ManualClock()).pause()
  })

  test('pause lasts until the last request being accepted has its answer', async () => {
    const acceptance = new Acceptance(new ManualClock())
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const both = [acceptance.during(() => first.promise), acceptance.during(() => second.promise)]
    const pause = observed(acceptance.pause())
    first.resolve()
    await settled()
    expect(pause.over).toBe(false)
    second.reject(new Error('refused'))
    await Promise.allSettled(both)
    await settled()
    expect(pause.over).toBe(true)
    await acceptance.pause()
  })

  test('pause lasts at most 250 ms, however many requests come', async () => {
    const clock = new ManualClock()
    const acceptance = new Acceptance(clock)
    void acceptance.during(() => new Promise(() => {}))
    const pause = observed(acceptance.pause())
    clock.advance(249)
    await settled()
    expect(pause.over).toBe(false)
    clock.advance(1)
    await settled()
    expect(pause.over).toBe(true)
  })
})
