import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Resync } from './resync.ts'

const ms = 60_000
const clock = new ManualClock()
let keys: string[]
let looks: string[]
let resync: Resync

beforeEach(() => {
  keys = Array.from({ length: 130 }, (_, i) => `key ${i}`)
  looks = []
  resync = new Resync({ clock, ms, keys: () => [...keys, ...keys], look: key => void looks.push(key) })
  resync.start()
})
afterEach(() => resync.stop())

/** Lets time pass. @returns the most looks at once */
async function pass(duration: number): Promise<number> {
  let most = 0
  for (let left = duration; left > 0; left -= 100) {
    const before = looks.length
    clock.advance(100)
    for (let i = 0; i < 5; i += 1) await new Promise(resolve => setImmediate(resolve))
    most = Math.max(most, looks.length - before)
  }
  return most
}

test('Resync looks at each key once in an interval, at a few at once', async () => {
  const most = await pass(1.2 * ms)
  expect(new Set(looks)).toEqual(new Set(keys))
  expect([most, looks.length < 1.4 * keys.length]).toEqual([3, true])
})

test('Resync looks at a lonely key once in an interval, and at keys that came meanwhile in the next one', async () => {
  keys = ['one']
  await pass(1.2 * ms)
  expect(looks).toEqual(['one'])
  keys = ['one', 'two']
  await pass(2 * ms)
  expect([looks.filter(key => key === 'one').length, looks.includes('two')]).toEqual([3, true])
})
