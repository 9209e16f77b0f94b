import { MessageChannel } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { halt } from '../../test/kit/failpoints/halt.ts'
import { afterReading } from './awake.ts'
import { systemClock } from './clock.ts'

/** A clock whose timers ring late by what the test says, as those of a halted process. */
function halted() {
  const clock = new ManualClock()
  const ring = vi.fn()
  const cancel = afterReading(clock, 1000, ring)
  const pass = async (ms: number) => {
    clock.advance(ms)
    await new Promise(setImmediate)
  }
  return { ring, cancel, pass }
}

test('afterReading rings after its time and one look when nothing was late', async () => {
  const { ring, pass } = halted()
  await pass(1000)
  expect(ring).not.toHaveBeenCalled()
  await pass(1)
  expect(ring).toHaveBeenCalledOnce()
})

test.each([
  { lateMs: 100, againMs: 100 },
  { lateMs: 20_000, againMs: 250 },
])('afterReading waits $againMs ms more when its timer rings $lateMs ms late', async ({ lateMs, againMs }) => {
  const { ring, pass } = halted()
  await pass(1000 + lateMs)
  await pass(againMs - 1)
  expect(ring).not.toHaveBeenCalled()
  await pass(1)
  expect(ring).toHaveBeenCalledOnce()
})

test.each([0, 1000])('afterReading never rings when it is cancelled after %d ms', async ms => {
  const { ring, cancel, pass } = halted()
  await pass(ms)
  cancel()
  await pass(30_000)
  expect(ring).not.toHaveBeenCalled()
})

test('afterReading rings after what came during a halt when the process was halted for all of its time', async () => {
  const { port1, port2 } = new MessageChannel()
  const order: string[] = []
  port1.on('message', () => order.push('read'))
  const rung = new Promise<void>(resolve =>
    afterReading(systemClock, 20, () => {
      order.push('rang')
      resolve()
    }),
  )
  port2.postMessage('')
  halt(50)
  await rung
  port1.close()
  expect(order).toEqual(['read', 'rang'])
})
