/** Limits for what comes by a pipe, also to a process that was halted meanwhile: its timers ring before it reads. */
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Clock } from '../base/clock.ts'

const lateOutputMs = 5000

/**
 * Calls `ring` after `ms`, in two waits. After a halt the first may ring at once; what had come by then is read during the second.
 * @returns a function that cancels it
 */
export function afterReading(clock: Clock, ms: number, ring: () => void): () => void {
  let cancel = clock.after(ms / 2, () => {
    cancel = clock.after(ms / 2, ring)
  })
  return () => cancel()
}

/**
 * Resolves when all output of a command was read, or given up: a process that was not found may hold it open.
 * @param onLate called when it is given up
 */
export async function allRead(streams: readonly Readable[], clock: Clock, onLate: () => void): Promise<void> {
  const cancel = afterReading(clock, lateOutputMs, () => {
    onLate()
    for (const stream of streams) stream.destroy()
  })
  await Promise.all(streams.map(stream => finished(stream).catch(() => {})))
  cancel()
}
