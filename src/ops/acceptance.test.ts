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
  test('nobody pauses while nothing is accepted', async () => {
    await new Acceptance(new ManualClock()).pause()
  })

  test('a pause lasts until the last of all that are under way has its answer', async () => {
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

  test('it lasts no longer than 250 ms, however many come', async () => {
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
