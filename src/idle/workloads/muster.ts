/** Makes the labs that are checked agree with those that run: a duty, since one replica is enough for it. */
import type { Clock } from '../../base/clock.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Duty, type DutyRest, type Take } from '../../duties/duty.ts'
import type { Leases } from '../../leases/leases.ts'
import type { DueStore } from '../../store/due.ts'

export interface MusterOptions {
  readonly store: Pick<DueStore, 'musterLabs'>
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of the lease. */
  readonly lease: string
  /** Over which newcomers are spread. */
  readonly periodMs: number
  readonly clock: Clock
  readonly log: Log
}

const intervalMs = 10_000

export function labMuster({ store, leases, lease, periodMs, clock, log }: MusterOptions): Duty {
  const round = async (take: Take): Promise<DutyRest> => {
    if ((await take()) === null) return { ms: intervalMs }
    const { added, removed } = await store.musterLabs(periodMs)
    if (added + removed > 0) log.debug({ added, removed }, 'labs that are checked for activity')
    return { ms: intervalMs, keep: true }
  }
  const failed = (error: unknown) => {
    logUnexpected(log, error, 'labs cannot be mustered')
    return { ms: intervalMs }
  }
  return new Duty({ clock, leases, lease, round, failed })
}
