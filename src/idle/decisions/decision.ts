/** The input and the result of a decision on a workload. Types alone. */
import type { IdleRule, SourceName } from '../../config/idle.ts'
import type { Activity, ActivityEvent, ActivityRead, StopReason, WorkloadState } from '../../store/idle.ts'
import type { Look } from '../looks/evidence.ts'

export interface Periods {
  readonly checkMs: number
  readonly restMs: number
  readonly slowestMs: number
  /** An older measurement proves nothing about now. */
  readonly cpuMs: number
}

export interface DecideInput {
  readonly read: ActivityRead
  readonly podUid: string
  /** By the cluster's clock, and by this replica's at the look. */
  readonly startedMs: number | undefined
  readonly wallMs: number
  /** By Redis' clock at the answer of the look. */
  readonly nowMs: number
  /** undefined: it is never stopped, and was not asked. */
  readonly rule: IdleRule | undefined
  readonly look: Look
  /** Sources that nobody reports of its kind, so nothing waits for them. */
  readonly unreported: readonly SourceName[]
  /** The annotations last-activity and keep-until, as a person may have written them. */
  readonly byHand: { readonly lastMs: number | undefined; readonly keepMs: number | undefined }
  readonly periods: Periods
}

export interface Stop {
  readonly why: StopReason
  /** How long it had lasted, by the rule. */
  readonly afterMs: number
  readonly rule: string
}

/** A notice to the workload's owner. */
export interface Notice {
  readonly event: 'warning' | 'kept'
  readonly why: StopReason
  /** When it may be stopped; of a warning. */
  readonly eligibleMs: number
  /** Its name; '' without one. */
  readonly rule: string
}

export interface Decision {
  readonly activity: Activity
  readonly nextInMs: number
  readonly events: readonly ActivityEvent[]
  /** For the owner, in words of the kind. */
  readonly notice: Notice | undefined
  /** It is to be stopped now, on this look. */
  readonly stop: Stop | undefined
  readonly state: WorkloadState
  /** It would be stopped, but silence of this source proves nothing now. */
  readonly heldBy: SourceName | undefined
  /** When it may be stopped at the earliest if nothing happens; undefined: never. */
  readonly eligibleMs: number | undefined
}
