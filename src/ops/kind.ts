/**
 * A kind of subjects, as the engine sees it. The engine owns, runs, resumes, supersedes and ends operations. A kind gives
 * their steps, limits and words. A failure has the same consequences in all kinds (`course.ts`). `run/kinds.ts` lists the
 * kinds of a replica, and `steps.ts` the duties of a step.
 */
import type { OperationKind } from '../base/domain.ts'
import type { KubeError } from '../kube/client.ts'
import type { Claim } from '../store/claims.ts'
import type { Outcome } from '../store/owners.ts'
import type { RecordForm } from '../store/records.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Phases } from './phase.ts'
import type { Shape, Step, StepContext } from './steps.ts'

/** The lists of steps: for a creation, for a deletion, and for removing the objects of a failed creation. */
export type StepList = OperationKind | 'clean'

export interface Kind<K extends Shape> {
  /** As in its subjects, its keys and its failpoints. */
  readonly name: string
  /** Reads and writes its records. */
  readonly form: RecordForm<K['record'], K['fields']>
  /** Whether each claim draws an epoch: a number higher than that of every earlier owner. */
  readonly drawsEpochs: boolean
  /** Whether its operations last for days: then replicas share those that one of them has left. Default: no. */
  readonly shares?: boolean
  readonly limits: Limits
  readonly words: Words
  /** The status after an operation that did not fail. `gone`: neither record nor subject is left. */
  readonly ends: Readonly<Record<OperationKind, Exclude<Outcome, 'failed'>>>
  /** Begins the work on an operation that was just claimed. */
  begin(claimed: Claimed<K>): Work<K>
}

/** Bounds for the operations of a kind. */
export interface Limits {
  /**
   * How long each list of steps may take, in milliseconds. A creation and a deletion end at the deadline of their acceptance too.
   * Undefined: that deadline is the only one, and a clean-up lasts until nothing is left.
   */
  readonly listMs: Readonly<Record<StepList, number | undefined>>
  /** An act that does not return is presumed to have killed its owner. After so many attempts the operation fails. */
  readonly maxAttempts: number
  /** In milliseconds: a lease is given back when no request of its owner is under way, or after this time. */
  readonly longestRequestMs: number
}

/** Texts of events, for clients. */
export interface Words {
  complete(name: string): string
  failed(operation: OperationKind, name: string): string
  /** The cluster, or another server, refuses what the subject needs. */
  refused(reason: string): string
  /**
   * An operation failed, and its objects are removed later, when the reason is gone. Only for a kind whose upkeep does that: it
   * finds records with the field `remains`. Without upkeep, objects stay until the next creation removes them.
   */
  remains?(reason: string): string
}

/** An operation with its owner, as its kind sees it. */
export interface Claimed<K extends Shape> {
  readonly claim: Claim<K['record']>
  /** The subject's name. */
  readonly name: string
  readonly op: number
  /** The record is from before the last compare of Redis' data: the cluster may be newer. */
  readonly recordMayBeOld: boolean
  /** Milliseconds since the claim, by the monotonic clock. */
  readonly ownedMs: number
  /** Names the operation and the claim in the User-Agent of requests. */
  readonly agent: string
  readonly log: Logger
  readonly span: Span
  readonly phases: Pick<Phases, 'within'>
  /** Reports to clients and in the log that the cluster refuses a step, which will be tried again. */
  reportRefusal(step: string, error: KubeError): Promise<void>
}

/** The work of one owner on one operation. */
export interface Work<K extends Shape> {
  readonly known: K['known']
  /** Follows what happens to the subject until the returned function is called. */
  watch?(): () => void
  /** Never empty. Names are unique over all lists, since a record names a step alone. `plan`: only for a creation. */
  steps(list: StepList, plan: K['plan'] | undefined): readonly Step<K>[]
  /**
   * Adds the kind's part to the context of a step.
   * @param at the context of one of several requests of an act: its failpoints have this name
   */
  context(common: StepContext<K['plan'], K['known']>, at: (name: string) => K['context']): K['context']
  /**
   * Finds out whether a creation that is about to fail is complete after all. Any missing answer ends it as failed: if a client
   * may know that the subject is complete (`recordMayBeOld`), only an answer may end the question.
   * @returns whether it is; `known` then has what `completed` needs
   * @throws {NeedsSomeone} or {RetryLater} when there is no answer; `Claimed.phases` throws such an error at its limit
   */
  isComplete(): Promise<boolean>
  /** Reasons that delay a deletion that failed, in words for clients. */
  obstacles?(): readonly string[]
  /** Fields of the record of a complete creation. */
  completed(): K['fields']
  /** Fields of the record of a failed creation whose objects are gone. */
  cleaned(): K['fields']
  /** Resolves when no request of this owner for this operation is under way. */
  settled(): Promise<void>
}
