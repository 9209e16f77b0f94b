import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { silentLogger } from '../telemetry/log.ts'
import { drain } from './drain.ts'

/** A replica that drains for 30 s at most. */
function draining(handOver: (told: string[]) => Promise<void>) {
  const clock = new ManualClock()
  const told: string[] = []
  const begunMs = clock.monotonicMs()
  const tell = (what: string) => void told.push(`${what} after ${clock.monotonicMs() - begunMs} ms`)
  const server = {
    endStreams: () => tell('streams'),
    close: async (graceMs: number) => tell(`${graceMs} ms to close`),
  }
  const drained = drain({ clock, log: silentLogger(), drainMs: 30_000, server, handOver: () => handOver(told) })
  return { clock, told, drained }
}

it('a drain ends streams after the hand-over, and the server when balancers know', async () => {
  const { clock, told, drained } = draining(async told => void told.push('handed over'))
  await new Promise(setImmediate)
  expect(told).toEqual(['handed over', 'streams after 0 ms'])
  clock.advance(1500)
  expect(await drained).toBe(true)
  expect(told.slice(2)).toEqual(['27500 ms to close after 1500 ms'])
})

it('a drain ends streams and the server in time when the hand-over does not end', async () => {
  const { clock, told, drained } = draining(() => new Promise(() => {}))
  clock.advance(24_999)
  await new Promise(setImmediate)
  expect(told).toEqual([])
  clock.advance(1)
  expect(await drained).toBe(false)
  expect(told).toEqual(['streams after 25000 ms', '4000 ms to close after 25000 ms'])
})

it('a drain ends streams and the server when the hand-over fails', async () => {
  const { clock, told, drained } = draining(() => Promise.reject(new Error('no Redis')))
  clock.advance(1500)
  expect(await drained).toBe(false)
  expect(told).toHaveLength(2)
})
