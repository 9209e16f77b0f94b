/**
 * Workloads: what the idle engine watches. Pure.
 *
 * - **workload**: a lab, an app, a notebook or a labelled StatefulSet, by kind and id.
 * - **incarnation**: the UID of its pod. All that is known of activity begins anew with another one.
 * - **check**: one look at one workload by one replica.
 * - **last**: the latest activity in an incarnation. It never falls.
 * - **floor**: nobody counts as idle for longer than since then.
 * - **stop**: an operation of the workload's own engine. The idle engine only requests it.
 */
import type { Deadline } from '../../base/deadline.ts'
import type { IdleRule, SourceName, StampPolicy, WorkloadKind } from '../../config/idle.ts'
import type { ActivityRead, StopRefusal, StopRequest } from '../../store/idle.ts'
import type { ProbeTarget } from '../looks/questions.ts'

export interface Workload {
  readonly kind: WorkloadKind
  /** A lab has its user's name, a notebook `namespace/name`, an app its id. Unique within the kind. */
  readonly id: string
}

/** The namespace in an id; '' where ids of the kind have none. */
export const namespaceIn = (id: string): string => id.slice(0, Math.max(0, id.indexOf('/')))

/** A workload as text, such as `lab:ada`. */
export type WorkloadKey = `${WorkloadKind}:${string}`

/** What rules match by. An absent property matches no pattern. */
export interface Traits {
  readonly size?: string | undefined
  readonly image?: string | undefined
  readonly user?: string | undefined
  readonly groups?: readonly string[]
  readonly tenant?: string | undefined
  readonly namespace?: string | undefined
}

/** Values of our annotations as they stand now; hostile until parsed. */
export interface Stamps {
  readonly lastActivity?: string | undefined
  readonly checked?: string | undefined
  readonly stopped?: string | undefined
  readonly keepUntil?: string | undefined
}

export type Address = IdleRule['address']

/** Values by annotation; `null` removes one. */
export type StampPatch = Readonly<Record<string, string | null>>

/** What the watches show of a workload. */
export interface WorkloadFacts extends Workload {
  /** The incarnation. */
  readonly podUid: string
  /** Its pod may be asked: it is Ready, neither being deleted nor in the network of its node. */
  readonly mayBeAsked: boolean
  /** When the pod started, by the cluster's clock, in ms since the epoch; undefined if that is not known. */
  readonly startedMs: number | undefined
  readonly stamps: Stamps
}

/** What Redis knows of a workload, and what a question to it takes. */
export interface Known {
  readonly read: ActivityRead
  readonly traits: Traits
  /** The operation that a lab runs by; only of labs, whose stream has words for its user. */
  readonly op?: number
  /**
   * Where its API is. Its credential is read only where it is asked.
   * @param address by its rule; a lab has that of its pod alone
   * @throws {RetryLater} {KubeError}
   */
  target(signal: AbortSignal, address?: Address): Promise<ProbeTarget>
  /** Requests its stop: any replica brings it to its end. @throws {RetryLater} {KubeError}, and the reason of the limit */
  stop(request: StopRequest, limit: StopLimit): Promise<StopResult>
}

/** Ends before another replica may take the workload, and find it in use: nothing is sent after it. */
export type StopLimit = Pick<Deadline, 'signal' | 'check'>

export type StopResult = 'requested' | StopRefusal

export interface WorkloadOwner {
  readonly kind: WorkloadKind
  readonly stampPolicy: StampPolicy
  /**
   * Sources that nobody reports of this kind, such as `traffic` of labs, which no gateway serves. Of all others silence
   * counts only where it was reported.
   */
  readonly unreported: readonly SourceName[]
  /** @returns undefined if the watches show none, or none with a pod that runs and is not being deleted */
  facts(id: string): WorkloadFacts | undefined
  /** Milliseconds since the watches of its pods heard from the API server. */
  silenceMs(): number
  /**
   * @returns undefined if it must not be stopped now: an operation runs, or Redis knows it with another pod
   * @throws {RetryLater} when Redis does not answer, or its data are not trusted yet
   */
  read(facts: WorkloadFacts): Promise<Known | undefined>
  /**
   * Writes annotations by the UID in `facts`; `null` removes one. Best effort.
   * @throws {RetryLater} {KubeError}
   */
  stamp(facts: WorkloadFacts, stamps: StampPatch, signal: AbortSignal): Promise<void>
}
