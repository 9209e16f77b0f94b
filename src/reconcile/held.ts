/** Leases of a turn. They spare work, so a turn waits hardly for them. */
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import type { TaskLease } from '../leases/leases.ts'

/** A lease; or another replica has it; or Redis does not answer. */
export type Held = TaskLease | 'refused' | 'silent'

/** Redis counts as silent after this time. */
const leaseMs = 250

/**
 * @param acquired null when another has it. A lease that comes too late is given back.
 * @param onDefect gets an error that no Redis explains; the turn goes on as without Redis
 */
export async function heldSoon(
  acquired: Promise<TaskLease | null>,
  clock: Clock,
  onDefect: (error: unknown) => void,
): Promise<Held> {
  const failed = (error: unknown) => {
    if (!(error instanceof RetryLater)) onDefect(error)
  }
  const deadline = new Deadline(clock, leaseMs)
  try {
    return (await unlessAborted(acquired, deadline.signal)) ?? 'refused'
  } catch {
    acquired.then(lease => lease?.release(), failed)
    return 'silent'
  } finally {
    deadline.release()
  }
}

/** Gives a lease back. One that a silent Redis does not take lapses: neither the key nor its place waits for that. */
export async function giveBack(held: Held | undefined, clock: Clock): Promise<void> {
  if (typeof held !== 'object') return
  const deadline = new Deadline(clock, leaseMs)
  try {
    await unlessAborted(held.release(), deadline.signal)
  } catch {
    // It lapses.
  } finally {
    deadline.release()
  }
}
