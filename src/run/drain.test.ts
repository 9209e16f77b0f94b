import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { silentLogger } from '../telemetry/log.ts'
import { drain } from './drain.ts'

/** A replica that drains for at most 30 s. */
function draining(handOver: (calls: string[]) => Promise<void>) {
  const clock = new ManualClock()
  const calls: string[] = []
  const begunMs = clock.monotonicMs()
  const note = (what: string) => void calls.push(`${what} after ${clock.monotonicMs() - begunMs} ms`)
  const server = {
    endStreams: () => note('streams'),
    close: async (graceMs: number) => note(`${graceMs} ms to close`),
  }
  const drained = drain({ clock, log: silentLogger(), drainMs: 30_000, server, handOver: () => handOver(calls) })
  return { clock, calls, drained }
}

it('drain ends streams after the hand-over, and the server when balancers have noticed', async () => {
  const { clock, calls, drained } = draining(async calls => void calls.push('handed over'))
  await new Promise(setImmediate)
  expect(calls).toEqual(['handed over', 'streams after 0 ms'])
  clock.advance(1500)
  expect(await drained).toBe(true)
  expect(calls.slice(2)).toEqual(['27500 ms to close after 1500 ms'])
})

it('drain ends streams and the server in time when the hand-over does not end', async () => {
  const { clock, calls, drained } = draining(() => new Promise(() => {}))
  clock.advance(24_999)
  await new Promise(setImmediate)
  expect(calls).toEqual([])
  clock.advance(1)
  expect(await drained).toBe(false)
  expect(calls).toEqual(['streams after 25000 ms', '4000 ms to close after 25000 ms'])
})

it('drain ends streams and the server when the hand-over fails', async () => {
  const { clock, calls, drained } = draining(() => Promise.reject(new Error('no Redis')))
  clock.advance(1500)
  expect(await drained).toBe(false)
  expect(calls).toHaveLength(2)
})
