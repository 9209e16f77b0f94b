import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { KeyQueue } from './queue.ts'

let clock: ManualClock
let queue: KeyQueue
let ready: number

beforeEach(() => {
  clock = new ManualClock()
  ready = 0
  const onReady = () => {
    ready += 1
  }
  queue = new KeyQueue({ clock, gatherMs: 20, room: 40, shareOf: key => key, onReady })
})

/** Lets timers that are due run. */
async function pass(ms: number) {
  clock.advance(ms)
  for (let i = 0; i < 10; i += 1) await Promise.resolve()
}

const taken = () => queue.take()?.key

describe('KeyQueue', () => {
  test('gives a key once for all events of a moment', async () => {
    queue.add('a', false)
    queue.add('b', false)
    queue.add('a', false)
    expect(taken()).toBeUndefined()
    await pass(20)
    expect([ready, taken(), taken(), taken()]).toEqual([1, 'a', 'b', undefined])
  })

  test('gives urgent keys first', async () => {
    for (let i = 0; i < 1000; i += 1) queue.add(`new-${i}`, false)
    await pass(20)
    queue.add('revoked', true)
    await pass(20)
    expect([taken(), taken()]).toEqual(['revoked', 'new-0'])
  })

  test('makes a waiting key urgent, and keeps since when it waits', async () => {
    queue.add('a', false)
    queue.add('b', false)
    await pass(20)
    queue.add('b', true)
    await pass(20)
    expect(queue.take()).toEqual({ key: 'b', urgent: true, sinceMs: 1000, mayLeave: false })
    expect(queue.take()).toEqual({ key: 'a', urgent: false, sinceMs: 1000, mayLeave: false })
  })

  test('gives a key again only when its look is over', async () => {
    queue.add('a', false)
    await pass(20)
    expect(taken()).toBe('a')
    queue.add('a', true)
    await pass(20)
    expect(taken()).toBeUndefined()
    queue.done('a')
    expect([taken(), queue.depth]).toEqual(['a', 0])
  })

  test('gives a key later, and hears what comes before', async () => {
    queue.after('a', 5000)
    queue.add('a', false)
    await pass(20)
    expect(taken()).toBe('a')
    queue.done('a')
    await pass(5000)
    await pass(20)
    expect(taken()).toBe('a')
  })

  test('gives a key that is left to others for a moment only after it, and once', async () => {
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    await pass(200)
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    await pass(20)
    expect([taken(), queue.depth]).toEqual([undefined, 0])
    await pass(100)
    await pass(20)
    expect(queue.take()).toEqual({ key: 'a', urgent: false, sinceMs: 1000, mayLeave: false })
    queue.done('a')
    await pass(1000)
    await pass(20)
    expect([taken(), queue.depth]).toEqual([undefined, 0])
  })

  test('gives a key that waits only later when it is left to others, and since when it waits', async () => {
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key, false, { mayLeave: key !== 'b' })
    await pass(20)
    queue.add('c', true)
    for (const key of ['a', 'b', 'c']) queue.add(key, false, { mayLeave: true, deferMs: 250 })
    await pass(20)
    expect([taken(), taken(), taken(), taken()]).toEqual(['c', 'b', 'd', undefined])
    await pass(300)
    await pass(20)
    expect(queue.take()).toEqual({ key: 'a', urgent: false, sinceMs: 1000, mayLeave: false })
  })

  test('gives a key later that was asked for a moment ago when it is left to others', async () => {
    queue.add('a', false, { mayLeave: true })
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    await pass(20)
    expect(taken()).toBeUndefined()
  })

  test('gives a key that is left to others at once when it becomes urgent, or its later time comes', async () => {
    queue.after('b', 100)
    for (const key of ['a', 'b']) queue.add(key, false, { mayLeave: true, deferMs: 250 })
    queue.add('a', true, { mayLeave: true, deferMs: 250 })
    await pass(100)
    await pass(20)
    expect([queue.take(), queue.take()]).toEqual([
      { key: 'a', urgent: true, sinceMs: 1000, mayLeave: false },
      { key: 'b', urgent: false, sinceMs: 1000, mayLeave: false },
    ])
    for (const key of ['a', 'b']) queue.done(key)
    await pass(1000)
    await pass(20)
    expect(taken()).toBeUndefined()
  })

  test('gives a key once that is left to others while it waits already', async () => {
    queue.add('a', false)
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    await pass(20)
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    expect(taken()).toBe('a')
    queue.done('a')
    await pass(1000)
    await pass(20)
    expect(taken()).toBeUndefined()
  })

  test('forgets what is left to others when the key is held meanwhile', async () => {
    queue.add('a', false, { mayLeave: true, deferMs: 250 })
    queue.after('a', 5000, { hold: true })
    await pass(400)
    await pass(20)
    expect(taken()).toBeUndefined()
  })

  test('hears only what is urgent while a key is held', async () => {
    queue.after('a', 5000, { hold: true })
    queue.add('a', false)
    await pass(20)
    expect(taken()).toBeUndefined()
    queue.add('a', true)
    await pass(20)
    expect(taken()).toBe('a')
  })

  test('forgets what is not urgent and was asked during a look, if the key is held after it', async () => {
    queue.add('a', false)
    queue.add('b', false)
    await pass(20)
    expect([taken(), taken()]).toEqual(['a', 'b'])
    for (const key of ['a', 'b']) {
      queue.add(key, key === 'b')
      await pass(20)
      queue.after(key, 5000, { hold: true })
      queue.done(key)
    }
    expect([taken(), taken()]).toEqual(['b', undefined])
  })

  test('knows one later time of a key', async () => {
    queue.after('a', 1000)
    queue.after('a', 5000)
    queue.after('b', 1000)
    queue.forget('b')
    await pass(1000)
    await pass(20)
    expect(taken()).toBeUndefined()
    await pass(4000)
    await pass(20)
    expect(taken()).toBe('a')
  })

  test('lets shares take turns, however many keys are of one', async () => {
    const ofShares = new KeyQueue({ clock, gatherMs: 20, room: 40, shareOf: key => key[0]!, onReady: () => {} })
    for (let i = 0; i < 1000; i += 1) ofShares.add(`a${i}`, true)
    ofShares.add('b0', true)
    await pass(20)
    expect([1, 2, 3].map(() => ofShares.take()?.key)).toEqual(['a0', 'b0', 'a1'])
  })

  test('keeps a key in the share in which it began to wait', async () => {
    let share = 'x'
    const moving = new KeyQueue({ clock, gatherMs: 20, room: 40, shareOf: () => share, onReady: () => {} })
    for (const key of ['a', 'b']) moving.add(key, true)
    await pass(20)
    share = 'y'
    moving.add('a', true)
    moving.add('c', true)
    await pass(20)
    expect([1, 2, 3, 4].map(() => moving.take()?.key)).toEqual(['a', 'c', 'b', undefined])
    expect(moving.depth).toBe(0)
  })

  test.each([true, false])('gives a share a quarter of the places, if it is urgent: %s', async urgent => {
    const shared = new KeyQueue({ clock, gatherMs: 20, room: 8, shareOf: key => key[0]!, onReady: () => {} })
    for (const key of ['a0', 'a1', 'a2', 'b0']) shared.add(key, urgent)
    await pass(20)
    const takeAll = () => [1, 2, 3, 4].map(() => shared.take()?.key)
    expect(takeAll()).toEqual(['a0', 'b0', 'a1', undefined])
    shared.done('a0')
    expect(takeAll()).toEqual(['a2', undefined, undefined, undefined])
  })

  test('keeps a quarter of the places for each lane', async () => {
    for (const [urgent, other] of [
      [true, false],
      [false, true],
    ] as const) {
      const lanes = new KeyQueue({ clock, gatherMs: 20, room: 8, shareOf: key => key, onReady: () => {} })
      for (let i = 0; i < 8; i += 1) lanes.add(`a${i}`, urgent)
      await pass(20)
      expect([1, 2, 3, 4, 5, 6, 7].filter(() => lanes.take())).toHaveLength(6)
      for (let i = 0; i < 8; i += 1) lanes.add(`b${i}`, other)
      await pass(20)
      expect([1, 2, 3].map(() => lanes.take()?.urgent)).toEqual([other, other, undefined])
    }
  })

  test('gives nothing after its end', async () => {
    queue.add('a', true)
    await queue.stop()
    await pass(20)
    queue.add('b', true)
    expect([taken(), queue.depth]).toEqual([undefined, 0])
  })
})
