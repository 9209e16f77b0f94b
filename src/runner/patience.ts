/** The end of what comes by pipes. */
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { afterReading } from '../base/awake.ts'
import type { Clock } from '../base/clock.ts'

const lateOutputMs = 5000

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
