/**
 * A kind of subjects: what the engine has to know to run operations on them. The engine accepts, owns, runs, resumes,
 * supersedes and ends; a kind says its steps, its words, and what a failure does. `run/kinds.ts` lists the kinds of a replica.
 */
import type { OperationKind } from '../base/domain.ts'
import type { KubeError } from '../kube/client.ts'
import type { Claim, Outcome } from '../store/owners.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Phases } from './phase.ts'
import type { Shape, Step, StepContext } from './steps.ts'

/** The lists of steps: of a creation, of a deletion, and of the removal of what a failed creation made. */
export type StepList = OperationKind | 'clean'

export interface Kind<K extends Shape> {
  /** As in its subjects, its keys and its failpoints. */
  readonly name: string
  readonly words: Words
  /** The status after an operation that did not fail. `gone`: neither record nor subject is left. */
  readonly ends: Readonly<Record<OperationKind, Exclude<Outcome, 'failed'>>>
  /** Begins the work on an operation that was just claimed. */
  begin(claimed: Claimed<K>): Work<K>
}

/** What an operation tells its clients. */
export interface Words {
  complete(name: string): string
  failed(operation: OperationKind, name: string): string
  /** The cluster refuses what the subject needs. */
  refused(reason: string): string
  /** An operation failed, and its objects are removed later. */
  remains(reason: string | undefined): string
}

/** An operation with its owner, as its kind sees it. */
export interface Claimed<K extends Shape> {
  readonly claim: Claim<K['record']>
  /** Of the subject. */
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
  watch(): () => void
  /** `plan`: only for a creation. */
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
  /** What delays a deletion that failed, in words for clients. */
  obstacles(): readonly string[]
  /** Fields of the record of a complete creation. */
  completed(): K['fields']
  /** Fields of the record of a failed creation whose objects are gone. */
  cleaned(): K['fields']
  /** Resolves when no request of this owner for this operation is under way. */
  settled(): Promise<void>
}
