/** What is accepted, and the answers: types of the two scripts that begin an operation. */
import type { LabStatus, LabView } from '../base/domain.ts'
import type { NewEvent } from './records.ts'

/** The request that an operation comes from, by which whoever owns it logs and traces. */
export interface Provenance {
  readonly requestId?: string | undefined
  /** W3C Trace Context */
  readonly traceparent?: string | undefined
  /** Who asks for it, as the audit log tells it; nothing where none is written. */
  readonly by?: string | undefined
}

export interface Creation extends Provenance {
  readonly user: string
  readonly nonce: string
  readonly timeoutMs: number
  /** The plan, sealed with this key of ours. */
  readonly sealPlan: (keyId: string) => string
  readonly view: LabView
  /** Whether its pod has the init container, so that its success is to be remembered. Default: false. */
  readonly provisions?: boolean
  readonly events: readonly NewEvent[]
  readonly idempotency?: { readonly key: string; readonly bodyHash: string } | undefined
}

export interface Deletion extends Provenance {
  readonly user: string
  readonly nonce: string
  readonly timeoutMs: number
  readonly events: readonly NewEvent[]
  /** For the stream of a creation that this supersedes. */
  readonly superseded: readonly NewEvent[]
  /** For a deletion that nobody asked for: only while this op is the record's, with no operation running. */
  readonly onlyIfOp?: number
}

export type Accepted = {
  readonly answer: 'accepted' | 'joined'
  readonly op: number
  /** The creation that a deletion has ended; not told again to who asks again. */
  readonly superseded?: Superseded
}

export interface Superseded extends Provenance {
  readonly op: number
  /** Redis' clock */
  readonly acceptedAtMs: number
}

/** Why a creation was not accepted; `exists` names what the lab is. */
export type NotAccepted =
  | { readonly answer: 'exists'; readonly status: LabStatus }
  | { readonly answer: 'mismatch' | 'sealed' }

/** As `accept-delete` answers. */
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
