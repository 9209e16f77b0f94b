/**
 * Steps: an operation is an ordered list of steps. Each is idempotent, so that the next owner may repeat it.
 * An `act` changes the world, such as the cluster, and may, at worst, kill its owner; a `wait` only watches.
 *
 * Duties of a step:
 * - Throw RetryLater for what may pass, NeedsSomeone for what does not, StartOver to begin its list anew. Any other error is
 *   logged as a defect, and the next owner meets it too: so errors of a driver or a library are translated.
 * - Throw Fenced only when a later operation or owner is known. A server that refuses an epoch under a valid lease is no such
 *   case: the epochs in Redis are behind it, every later claim is refused too, and nothing bounds the claims. It is a RetryLater;
 *   or a LetGo, once the epochs in Redis were raised above it.
 * - Pass the failpoints `before-act` and `after-act` around each of its writes. The client passes `before-send` and `after-send`.
 * - Call `check` last before a write leaves, after every wait. A write that has left is counted by the kind until it returns
 *   (`Work.settled`), also when the step has ended.
 * - Return as `fields` all that it adds to `known`: the next owner knows only the record. Fields are written when a step is
 *   done. So a value that must be known before a write is the result of an earlier step of its own.
 */
import type { Clock } from '../base/clock.ts'
import { KubeError } from '../kube/client.ts'
import type { NewEvent, OperationFields, OperationRecord } from '../store/records.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Span } from '../telemetry/tracing.ts'

/** The types of a kind of subjects: its records, and what its steps get and give. */
export interface Shape {
  readonly record: OperationRecord
  /** Fields of a record that steps set. */
  readonly fields: OperationFields
  readonly plan: unknown
  /** Facts that an operation knows about its objects. Steps add to them. */
  readonly known: object
  readonly context: StepContext
}

/** Options of a request of a step. They fit the cluster's client. */
export interface Call {
  readonly signal: AbortSignal
  /** Names the operation and the claim, for the User-Agent. */
  readonly agent: string
  /** To be called last before a request leaves. @throws when the lease has expired */
  readonly check: () => void
  /** To be passed around each attempt of a write. */
  readonly failpoint: (place: 'before-send' | 'after-send') => void | Promise<void>
  readonly log: Logger
  /** The parent of a span for each attempt. */
  readonly span: Span
}

/** The part of a step's context that all kinds have. */
export interface StepContext<Plan = unknown, Known = unknown> {
  /** The subject's name. */
  readonly name: string
  readonly op: number
  /** The epoch that the claim drew; undefined for a kind whose claims draw none. */
  readonly epoch: number | undefined
  /** The plan of a creation; a deletion has none. */
  readonly plan: Plan | undefined
  readonly known: Known
  readonly clock: Clock
  /** Aborted at the deadline, when the lease is lost, and at a hand-over. */
  readonly signal: AbortSignal
  /** Options for a request. @throws when the lease has expired, as the request does when it leaves */
  call(): Call
  /** Writes events before the step is done. Events that were written before are left out. */
  report(events: readonly NewEvent[]): Promise<void>
  /** Those of these events that nobody has written, each once. */
  unreported(events: readonly NewEvent[]): readonly NewEvent[]
  /** Passes a failpoint, such as `lab.create.pod.after-act`. */
  failpoint(place: 'before-act' | 'before-send' | 'after-send' | 'after-act'): void | Promise<void>
}

/** The result of a step: `nothing` to record, or events and fields. The end of the operation records that of the last step. */
export type StepResult<F extends OperationFields = OperationFields> =
  | 'nothing'
  | { readonly events: readonly NewEvent[]; readonly fields?: F }

export interface Step<K extends Shape = Shape> {
  readonly name: string
  readonly kind: 'act' | 'wait'
  /** Progress in percent when the step is done. The last step of a list is done when the operation ends. */
  readonly progress: number
  /** True for a wait that has nothing to wait for, by what the operation knows: it returns at once, and needs no turn. */
  readonly isIdle?: (known: Readonly<K['known']>) => boolean
  run(context: K['context']): Promise<StepResult<K['fields']>>
}

/**
 * Recognises refusals that may pass because the cluster is catching up: a policy or a quota that is not counted yet, a
 * ServiceAccount that does not exist yet. All other refusals of the same request are final.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.status === 403 || error.status === 404)

/** A refusal of one of several requests that an act sends at once. Each object has a grace of its own. */
export class ObjectRefused extends KubeError {
  /** Names the object within the act. */
  readonly object: string

  constructor({ status, reason, message, retryAfterMs }: KubeError, object: string) {
    super(status, reason, message, retryAfterMs)
    this.object = object
  }
}

/** Thrown by a step when the cluster has changed since an earlier step: the list begins anew. */
export class StartOver extends Error {
  override readonly name = 'StartOver'
}
