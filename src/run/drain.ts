/** The drain of a replica: within one limit operations are handed over, streams end, and answers are sent. */
import { type Clock, notNeeded } from '../base/clock.ts'
import type { Logger } from '../telemetry/log.ts'

/** How long a balancer may keep routing to a replica that has just become unready. */
const unreadyMs = 1_500
/** Time reserved for streams and answers, however long the hand-over takes; at most this share of the whole. */
const reserveMs = 5_000
const reserveShare = 1 / 3
/** Time reserved for the parts that close after the last connection; at most this share of the whole. */
const lastMs = 1_000
const lastShare = 1 / 10

export interface DrainParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Time from the signal to the end of the process. */
  readonly drainMs: number
  readonly server: { endStreams(): void; close(graceMs: number): Promise<void> }
  /** Hands over all operations of this replica. */
  handOver(): Promise<void>
}

/**
 * Drains a replica. Event streams end cleanly, and answers are sent, however long the hand-over takes.
 * @returns true if everything was handed over
 */
export async function drain({ clock, log, drainMs, server, handOver }: DrainParts): Promise<boolean> {
  const endMs = clock.monotonicMs() + drainMs
  const unready = clock.sleep(Math.min(unreadyMs, drainMs / 3))
  const handedOver = await within(clock, drainMs - Math.min(reserveMs, drainMs * reserveShare), handOver()).catch(
    error => {
      log.error({ err: error }, 'the hand-over failed')
      return false
    },
  )
  // Other replicas take over the rest when its leases have expired.
  if (!handedOver) log.warn('not everything was handed over')
  server.endStreams()
  await unready
  await server.close(Math.max(0, endMs - clock.monotonicMs() - Math.min(lastMs, drainMs * lastShare)))
  return handedOver
}

/** True if the work ends in time. */
async function within(clock: Clock, ms: number, work: Promise<void>): Promise<boolean> {
  const over = new AbortController()
  const late = clock.sleep(ms, over.signal).then(
    () => false,
    () => true,
  )
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    over.abort(notNeeded)
  }
}
