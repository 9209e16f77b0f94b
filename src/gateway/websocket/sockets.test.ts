import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { OpenSocket } from './socket.ts'
import { Sockets } from './sockets.ts'

function start() {
  const clock = new ManualClock()
  const closedMs: number[] = []
  let drained = 0
  const sockets = new Sockets({ clock, onDrained: () => (drained += 1) })
  const open = () => {
    const close = (code: number) => {
      expect(code).toBe(1012)
      closedMs.push(clock.monotonicMs())
    }
    return sockets.add({ close } as unknown as OpenSocket)
  }
  /** Lets the loop take its turns. */
  const run = async (ms: number) => {
    for (let at = 0; at < ms; at += 100) {
      await clock.whenSleeping(100)
      clock.advance(100)
    }
  }
  return { clock, sockets, open, run, closedMs, drained: () => drained }
}

test('Sockets closes all evenly over the time that it has', async () => {
  const { clock, sockets, open, run, closedMs, drained } = start()
  for (let socket = 0; socket < 40; socket++) open()
  const beganMs = clock.monotonicMs()
  const closed = sockets.closeOver(1000)
  await run(1000)
  await closed
  const lots = Array.from({ length: 10 }, (_, lot) => closedMs.filter(atMs => atMs === beganMs + 100 * lot).length)
  expect(lots).toEqual(Array(10).fill(4))
  expect(drained()).toBe(40)
})

test('Sockets closes those that open meanwhile, and none that has ended', async () => {
  const { sockets, open, run, closedMs } = start()
  const [end] = [open(), open()]
  open()
  end!()
  const closed = sockets.closeOver(300)
  open()
  await run(300)
  await closed
  expect([closedMs.length, sockets.size]).toEqual([3, 0])
})

test('Sockets has nothing to wait for when none is open', async () => {
  await start().sockets.closeOver(60_000)
})

test('Sockets closes one at once when all others were closed before it opens', async () => {
  const { sockets, open, closedMs, drained } = start()
  await sockets.closeOver(1000)
  open()
  expect([closedMs.length, drained(), sockets.size]).toEqual([1, 1, 0])
})
