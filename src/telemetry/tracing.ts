/**
 * The interface of traces: nested spans, identified to others by a W3C `traceparent`. Without a configured receiver
 * nothing is recorded, and a client's `traceparent` is passed on unchanged.
 */
import type { OperationKind } from '../base/domain.ts'
import type { Subject } from '../base/subject.ts'

/** Must not contain a secret, a token, or an option or variable of a lab. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'client'
  readonly attributes?: Attributes
  /** Start in milliseconds since the epoch. Default: now. */
  readonly startMs?: number
  /** Whether its children are sent only together with it, so that a killed replica leaves no orphans. */
  readonly holdsChildren?: boolean
}

export interface SpanEnd {
  /** Replaces the initial name. */
  readonly name?: string
  readonly attributes?: Attributes
  /** The error as a text. */
  readonly error?: string
}

export interface Span {
  /** Identifies the span as a parent, and its trace in logs; undefined without a trace. */
  readonly traceparent: string | undefined
  /** Nothing is recorded of it: what would describe its end need not be made. */
  readonly isSilent?: true
  child(name: string, options?: SpanOptions): Span
  /** To be called once. A span that is never ended is never sent. */
  end(end?: SpanEnd): void
}

/** The trace of an operation, by its record: every replica gets the same span. */
export interface OperationTrace {
  readonly subject: Subject
  readonly op: number
  readonly kind: OperationKind
  readonly acceptedAtMs: number
  /** The request that began the operation; undefined if there was none. */
  readonly traceparent: string | undefined
}

export interface Tracing {
  /** The span of an incoming request, within the client's trace, if it named one. */
  request(traceparent: string | undefined): Span
  /**
   * The span of an operation, from its acceptance. Only the replica that ends the operation ends the span. A replica
   * that hands over or loses the operation leaves it, and its child spans stay in the trace.
   */
  operation(operation: OperationTrace): Span
  /** Sends pending spans, within limits. Never rejects. */
  close(): Promise<void>
}

/** The origin of a request that begins an operation. */
export interface Origin {
  /** `X-Request-ID`, the client's or ours; at most 128 characters. */
  readonly requestId: string
  readonly span: Span
  /** The caller, as the record of an operation keeps it for the audit log; absent without an audit log. */
  readonly by?: () => string
  /** Called when something was accepted, with its op, or when nothing had to be. */
  readonly onAccepted?: (op: number | undefined, how: 'accepted' | 'joined' | 'repeated') => void
}

/** Version, trace, parent, flags. Later versions may add fields; ours is the first. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** @returns undefined for an invalid `traceparent` (W3C Trace Context, section 3.2) */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = form.exec(text ?? '') ?? []
  if (!traceId || !spanId || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}

export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext) =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`

/** Fields of log lines that name an origin, without unknown ones. */
export function originFields(requestId: string | undefined, traceparent: string | undefined) {
  const traceId = traceparent === undefined ? undefined : parseTraceparent(traceparent)?.traceId
  return { ...(requestId !== undefined && { requestId }), ...(traceId !== undefined && { traceId }) }
}

/** Passes on the client's trace, and records nothing. */
function silentSpan(traceparent: string | undefined): Span {
  const span: Span = { traceparent, isSilent: true, child: () => span, end: () => {} }
  return span
}
const silence = silentSpan(undefined)

/** Tracing without a receiver. */
export const noTracing: Tracing = {
  request: traceparent => {
    const context = traceparent === undefined ? undefined : parseTraceparent(traceparent)
    return context ? silentSpan(formatTraceparent(context)) : silence
  },
  operation: ({ traceparent }) => silentSpan(traceparent),
  close: async () => {},
}

/** Runs work in a span of its own. */
export async function within<T>(parent: Span, name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  const span = parent.child(name, options)
  try {
    const result = await work()
    span.end()
    return result
  } catch (error) {
    span.end({ error: error instanceof Error ? error.message : String(error) })
    throw error
  }
}
