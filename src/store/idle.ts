/**
 * Redis' part of the idle engine: when each workload is checked (`due.ts`), and what is known of its activity (`activity.ts`).
 * All times are Redis' clock, in milliseconds since the epoch; 0 means never.
 */
import type { LabView } from '../base/domain.ts'
import type { WorkloadKind } from '../config/idle.ts'

/** `slow` has what did not answer last time, so that the hung wait for the hung alone. */
export type Lane = 'fast' | 'slow'

/** A workload that this replica checks now. `score` is the token: a later taker has another one. */
export interface Taken {
  readonly id: string
  readonly score: string
  /** How late it was taken, in milliseconds. */
  readonly lateMs: number
}

export interface TakenNow {
  readonly taken: readonly Taken[]
  /** Milliseconds until the next one is due; undefined if there is none. */
  readonly nextInMs: number | undefined
  readonly nowMs: number
}

/** The record of an incarnation of a workload. */
export interface Activity {
  /** The incarnation that all of it is about. */
  readonly podUid: string
  /** When this incarnation was first seen. */
  readonly sinceMs: number
  /** The latest activity, that which touches have reported too. */
  readonly lastMs: number
  /** The source of `lastMs`; '' before the first activity. */
  readonly source: string
  /** The last look that was answered. */
  readonly checkedMs: number
  /** When its owner was warned of a stop; the warning still holds. */
  readonly warnedMs: number
  /** Kept until then on request. */
  readonly keepMs: number
  /** Consecutive looks without an answer. */
  readonly failures: number
  /** The first of them. */
  readonly unreachableMs: number
  /** When its owner was notified that it does not answer, if that lasts. */
  readonly toldMs: number
  /** When a stop was requested that is being carried out. */
  readonly stoppingMs: number
  readonly stoppedMs: number
  /** Why it was stopped, in words. */
  readonly stopWords: string
  /** Counters of sidecars at the last look, by name. */
  readonly readings: Readonly<Record<string, number>>
}

export interface ActivityRead {
  /** undefined: nothing is known, or only of another incarnation. */
  readonly activity: Activity | undefined
  readonly floorMs: number
  readonly nowMs: number
  /** Counts touches. The end of a check and a stop bring it back: another number means that somebody came meanwhile. */
  readonly touches: number
  /** No gateway tells what it sees, or one that did has not for a while: silence of `traffic` proves nothing. */
  readonly trafficIsUntold: boolean
  /** When this incarnation was last measured, and by which rule it was judged then; undefined: never. */
  readonly cpu?: { readonly atMs: number; readonly rule: string } | undefined
}

/** The lab by its record, read in the same moment. */
export interface LabRead extends ActivityRead {
  /** undefined: there is none that runs without an operation. */
  readonly lab:
    | {
        readonly op: number
        readonly podUid: string
        readonly namespaceUid: string
        readonly view: LabView
        /** The sealed token that its own API is asked with; undefined if the record has none. */
        readonly credential: string | undefined
      }
    | undefined
}

export type ActivityEventName = 'warning' | 'kept' | 'stopping' | 'unreachable' | 'reachable'

export interface ActivityEvent {
  readonly event: ActivityEventName
  /** JSON */
  readonly data: string
}

export const workloadStates = ['active', 'idle', 'warned', 'unknown'] as const
export type WorkloadState = (typeof workloadStates)[number]

/** The result of a check, for the API and the metrics. */
export interface Finding {
  readonly state: WorkloadState
  /** Name of the rule; '' without one. */
  readonly rule: string
  /** When it may be stopped at the earliest; 0: never. */
  readonly eligibleMs: number
}

/** The end of a check: written only if the score is still this replica's. */
export interface CheckEnd {
  readonly kind: WorkloadKind
  readonly id: string
  readonly score: string
  /** `stoppingMs`, `stoppedMs` and `stopWords` are not written: a check that ends has stopped nothing. */
  readonly activity: Activity
  /** Of the read that this was decided on. */
  readonly touches: number
  readonly finding: Finding
  /** Milliseconds from now until the next check. A workload with `failures` is checked in the slow lane. */
  readonly nextInMs: number
  readonly events: readonly ActivityEvent[]
  /** Words for the user, appended to the lab's own stream as `info` while it runs with this op; only for labs. */
  readonly lab?: { readonly op: number; readonly words: readonly string[] }
}

/** `age`: the workload is older than its rule permits, busy or not. */
export type StopReason = 'idle' | 'age' | 'unreachable'

/** A request to stop a workload, on a look of a moment ago. Everything in it is checked once more by one script. */
export interface StopRequest {
  readonly kind: WorkloadKind
  readonly id: string
  readonly podUid: string
  readonly score: string
  /** The latest activity that the look has shown. */
  readonly lastMs: number
  /** `lastMs` and `touches` of the read that this was decided on; 0 where nothing was known. */
  readonly readLastMs: number
  readonly touches: number
  readonly why: StopReason
  /** The time by the rule: of idleness, or without an answer; not looked at for `age`. */
  readonly timeoutMs: number
  /** How long the warning must have stood; 0: none is needed. */
  readonly warnMs: number
  /**
   * Redis' clock now, as this replica expects it by its own monotonic clock: an answer of Redis from before the look, and the
   * time since. A difference of more than 5 s stops nobody, and raises the floor.
   */
  readonly expectedMs: number
  /** The fuse: stops of the kind within a minute, if a twentieth of all is less. */
  readonly stopsPerMinute: number
  /** For its owner: why it was stopped. Kept for 7 days. */
  readonly words: string
  /** JSON: the data of the event `stopping`. */
  readonly data: string
}

export interface CullRequest extends Omit<StopRequest, 'kind'> {
  /** The operation that the lab runs by. */
  readonly op: number
  /** Until the deadline of the deletion. */
  readonly timeLimitMs: number
  /** The origin for the audit log, as `Deletion.by`. */
  readonly by?: string | undefined
}

/**
 * - `changed`: it is another incarnation, somebody came back, or another replica checks it: look again
 * - `held`: the fuse holds it: too many were stopped within a minute, or too many of its kind do not answer
 * - `clock`: Redis' clock stepped, or this is another Redis; the floor was raised
 */
export type StopRefusal = 'changed' | 'held' | 'clock'

export interface Touch {
  readonly id: string
  /** The incarnation, if the caller knows it; labs have it in their record. */
  readonly podUid?: string | undefined
  /** How long ago it was used, in milliseconds. */
  readonly ageMs: number
}

/** `stopping`: its stop was requested first. `none`: there is no such lab. */
export type TouchAnswer = 'kept' | 'stopping' | 'none'

/** The activity of a workload as the API shows it. */
export interface ActivityView {
  /** undefined: no check has ended yet. */
  readonly activity: Activity | undefined
  readonly finding: Finding | undefined
  /** Also of an earlier incarnation, for 7 days. */
  readonly stopped: { readonly atMs: number; readonly words: string } | undefined
  readonly stoppingMs: number
  /** The end of keep-alive requests, even before the first check. */
  readonly keepMs: number
}

/** An event of any workload, as everybody's stream has it. */
export interface StoredActivityEvent extends ActivityEvent {
  /** `<series>-<n>`; another series begins when Redis has lost the former one. */
  readonly id: string
  readonly kind: WorkloadKind
  readonly workload: string
  readonly atMs: number
}

export interface ActivityEventsRead {
  /** Id of the newest event of all; undefined if there is none. */
  readonly newestId: string | undefined
  readonly events: readonly StoredActivityEvent[]
}
