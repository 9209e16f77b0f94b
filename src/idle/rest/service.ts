/** What REST shows of activity and does about it, and what that takes of the kinds. */
import { type IdleConfig, type IdleRule, sourceNames, type WorkloadKind } from '../../config/idle.ts'
import type { Workload, WorkloadFacts } from '../workloads/workload.ts'

/** A kind of workloads that this process serves. */
export interface ActivityKind {
  readonly kind: WorkloadKind
  /** @returns undefined if the watches show none, or none that runs */
  facts(id: string): WorkloadFacts | undefined
  /** Whether the watches show that it ends, for whichever reason. */
  isEnding(id: string): boolean
  /** The user whose workload it is; undefined if that is nobody or not known. A lab has its user's name. */
  ownerOf(id: string): string | undefined
  /**
   * The rule by today's configuration; undefined: it is never stopped.
   * @returns 'busy' while an operation of the workload runs
   * @throws {RetryLater} when Redis does not answer
   */
  ruleOf(facts: WorkloadFacts): Promise<IdleRule | undefined | 'busy'>
  /** Called when Redis has a keep-alive, or none any more: the annotation follows, best effort. */
  onKept?(facts: WorkloadFacts, untilMs: number | undefined): void
}

export const shownStates = ['active', 'idle', 'warned', 'stopping', 'stopped', 'unknown'] as const
export type ShownState = (typeof shownStates)[number]

/** `annotation`: a person has written it. */
export const shownSources = [...sourceNames, 'annotation'] as const
export type ShownSource = (typeof shownSources)[number]

/** What is shown of a workload. Times are RFC 3339 by Redis' clock; absent: never, or not known. */
export interface WorkloadView extends Workload {
  readonly state: ShownState
  readonly lastActivity?: string
  /** Where that was seen. */
  readonly source?: ShownSource
  /** The last look that was answered. */
  readonly checkedAt?: string
  /** The rule of the last look; absent: it is never stopped. */
  readonly rule?: string
  /** When it may be stopped at the earliest if nothing happens; absent: never. */
  readonly eligibleAfter?: string
  readonly keepUntil?: string
  /** The last stop, for seven days. */
  readonly stopped?: { readonly at: string; readonly why: string }
}

/** A page of a list, by id. */
export interface WorkloadPage {
  readonly workloads: readonly WorkloadView[]
  /** The id after which the next page begins; absent: there is none. */
  readonly after?: string
}

/** Which part of the rule has shortened a keep-alive. */
export type KeepLimit = 'keepAlive.maxSeconds' | 'maxAgeSeconds'

export interface Kept {
  readonly until: string
  readonly limitedBy?: KeepLimit
}

/** Why nothing was noted: it is being stopped; there is none; its rule grants no keep-alive. */
export type NotKept = 'stopping' | 'none' | 'off'

/** The user or the lab whose events a stream has. */
export type Whose = { readonly user: string } | { readonly lab: string } | 'everybody'

/** An event as clients see it. `id` is `<series>-<number>`; `data` is a JSON object with `kind` and `id` of the workload. */
export interface ShownEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

export interface ShownEvents {
  /** Events in order, in batches as they come. Ends when `signal` is aborted. */
  read(signal: AbortSignal): AsyncIterable<readonly ShownEvent[]>
}

export type Policy = Pick<IdleConfig, 'checkPeriodSeconds' | 'restPeriodSeconds' | 'stopsPerMinute' | 'rules'> & {
  readonly kinds: readonly WorkloadKind[]
}

/** What the routes use. Every method that asks Redis throws `RetryLater` while it does not answer. */
export interface ActivityService {
  readonly kinds: readonly WorkloadKind[]
  policy(): Policy
  /** Those that are looked at, by id. */
  list(kind: WorkloadKind, after: string | undefined): Promise<WorkloadPage>
  /** @returns undefined if there is none, and none was stopped lately */
  find(workload: Workload): Promise<WorkloadView | undefined>
  ownerOf(workload: Workload): string | undefined
  /** Notes activity that somebody reports. */
  push(workload: Workload): Promise<'noted' | Exclude<NotKept, 'off'>>
  /** Keeps it from being stopped for idleness, for at most as long as its rule grants. */
  keep(workload: Workload, seconds: number): Promise<Kept | NotKept>
  /** Ends a keep-alive. There need not be one. */
  release(workload: Workload): Promise<'released' | Exclude<NotKept, 'off'>>
  /**
   * Events after the one that the client names, else from now on.
   * @throws {ApiError} 400 when `lastEventId` is not the id of an event
   */
  events(whose: Whose, lastEventId: string | undefined, signal: AbortSignal): Promise<ShownEvents>
}
