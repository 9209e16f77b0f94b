import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { late } from './late-lines.ts'

/** An odd number of them, so that lines come late by different pairs. */
const chances = [0.9, 0.01, 0.5, 0.3, 0.7]

beforeEach(() => {
  let drawn = 0
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockImplementation(() => chances[drawn++ % chances.length]!)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const numbers = Array.from({ length: 200 }, (_, i) => String(i))

test('late brings all lines in their order when they may be overwritten at once', async () => {
  const got: string[] = []
  const take = late(line => void got.push(line.toString()), new AbortController())
  const chunk = Buffer.alloc(3)
  for (const text of numbers) {
    take(chunk.subarray(0, chunk.write(text)))
    await vi.advanceTimersByTimeAsync(5)
  }
  expect(got.length).toBeLessThan(numbers.length)
  await vi.advanceTimersByTimeAsync(1_500)
  expect(got).toEqual(numbers)
})

test('late ends the watch when a line is refused, and brings no further one', async () => {
  const watch = new AbortController()
  const got: string[] = []
  const take = late(line => {
    if (got.push(line.toString()) === 3) throw new Error('expired')
  }, watch)
  for (const text of numbers) take(Buffer.from(text))
  await vi.advanceTimersByTimeAsync(10_000)
  expect([got, watch.signal.reason.message]).toEqual([['0', '1', '2'], 'expired'])
})

test('late brings the error of a server at once when other lines wait', () => {
  const got: string[] = []
  const take = late(line => void got.push(line.toString()), new AbortController())
  const error = '{"type":"ERROR","object":{}}'
  for (const text of ['{"type":"ADDED"}', error]) take(Buffer.from(text))
  expect(got).toEqual([error])
})
