/** Arguments and answers of the two scripts that accept an operation. */
import type { LabStatus } from '../base/domain.ts'
import { isSubjectName, labKind } from '../base/subject.ts'
import type { NewEvent } from './records.ts'

/** The request that an operation comes from, for the logs and traces of its owner. */
export interface Provenance {
  readonly requestId?: string | undefined
  /** W3C Trace Context */
  readonly traceparent?: string | undefined
  /** The origin for the audit log; undefined without one, and for every kind but labs. */
  readonly by?: string | undefined
}

export interface Creation extends Provenance {
  /** The subject's name. */
  readonly name: string
  readonly nonce: string
  /** Until the deadline of the whole operation; as long as the kind lets the steps of a creation take (`Kind.limits`). */
  readonly timeoutMs: number
  /** Seals the plan with this key of ours, for this name (`sealedName`) and the nonce. */
  readonly sealPlan: (keyId: string, sealedName: string) => string
  /** The part of it that clients may see, such as a `LabView`. */
  readonly view: object
  readonly events: readonly NewEvent[]
  readonly idempotency?: { readonly key: string; readonly bodyHash: string } | undefined
}

export interface LabCreation extends Creation {
  /** True if its pod has the init container, whose success is to be remembered. Default: false. */
  readonly provisions?: boolean
}

export interface Deletion extends Provenance {
  /** The subject's name. */
  readonly name: string
  readonly nonce: string
  /** As that of a creation. */
  readonly timeoutMs: number
  readonly events: readonly NewEvent[]
  /** Last events of a creation that this supersedes. */
  readonly superseded: readonly NewEvent[]
  /** For the controller's own deletions: accept only if the record has this op and no operation runs. */
  readonly onlyIfOp?: number
}

export type Accepted = {
  readonly answer: 'accepted' | 'joined'
  readonly op: number
  /** The creation that a deletion has ended; absent in the answer to a repeated request. */
  readonly superseded?: Superseded
}

export interface Superseded extends Provenance {
  readonly op: number
  /** Redis' clock */
  readonly acceptedAtMs: number
}

/** Why a creation was not accepted; `exists` has the subject's status. */
export type NotAccepted =
  | { readonly answer: 'exists'; readonly status: LabStatus }
  | { readonly answer: 'mismatch' | 'sealed' }

/** Reads the superseded creation from an answer of `accept-delete`. */
export function readSuperseded([op, acceptedAt, requestId, traceparent, by]: readonly unknown[]): Superseded {
  const text = (value: unknown) => (value as string | null) || undefined
  return {
    op: Number(op),
    acceptedAtMs: Number(acceptedAt),
    requestId: text(requestId),
    traceparent: text(traceparent),
    by: text(by),
  }
}

/** @throws if a kind accepts what only labs may have. Names of users are checked where callers are identified. */
export function requireAcceptable(kind: string, { name, by }: Pick<Creation, 'name' | 'by'>): void {
  if (kind === labKind) return
  if (!isSubjectName(name)) throw new Error(`not a name for a subject: ${JSON.stringify(`${kind}:${name}`)}`)
  // A note does not name the kind: any replica would write a line about the lab of this name.
  if (by !== undefined && by !== '') throw new Error(`operations on ${kind} leave no notes for the audit log`)
}
