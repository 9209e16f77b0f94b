/** Leases of a turn. They spare work, so a turn waits hardly for them. */
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import type { TaskLease } from '../leases/leases.ts'

/** A lease; or another replica has it; or Redis does not answer. */
export type Held = TaskLease | 'refused' | 'silent'

/** Redis counts as silent after this time. */
const leaseMs = 250

/** @param acquired null when another has it. A lease that comes too late is given back. */
export async function heldSoon(acquired: Promise<TaskLease | null>, clock: Clock): Promise<Held> {
  const deadline = new Deadline(clock, leaseMs)
  try {
    return (await unlessAborted(acquired, deadline.signal)) ?? 'refused'
  } catch {
    acquired.then(
      lease => lease?.release(),
      () => {},
    )
    return 'silent'
  } finally {
    deadline.release()
  }
}
