/**
 * Traces, as the rooms see them: spans within spans, each known to others by its W3C `traceparent`. Without a configured
 * receiver nothing is recorded, and what a client said of its own trace is handed on as it came.
 */
import type { OperationKind } from '../base/domain.ts'

/** Never a secret, a token, or an option or variable of a lab. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'client'
  readonly attributes?: Attributes
  /** When it began, in milliseconds since the epoch. Default: now. */
  readonly startMs?: number
  /** Whether its children are handed over for sending only together with it: who is killed in between leaves no orphans. */
  readonly holdsChildren?: boolean
}

export interface SpanEnd {
  /** Replaces the name that it began with. */
  readonly name?: string
  readonly attributes?: Attributes
  /** In words, what went wrong. */
  readonly error?: string
}

export interface Span {
  /** By which others make children of it, and logs name its trace; undefined where there is no trace at all. */
  readonly traceparent: string | undefined
  child(name: string, options?: SpanOptions): Span
  /** To be called once. One that is never ended is never sent. */
  end(end?: SpanEnd): void
}

/** An operation, as its record has it: whoever asks for its span gets the same one. */
export interface OperationTrace {
  readonly user: string
  readonly op: number
  readonly kind: OperationKind
  readonly acceptedAtMs: number
  /** Of the request that it comes from; undefined where nobody asked for it. */
  readonly traceparent: string | undefined
}

export interface Tracing {
  /** The span of a request that came in, within the trace that the client named, if it named one. */
  request(traceparent: string | undefined): Span
  /**
   * The span of an operation, from its acceptance. Only whoever ends the operation ends it; who hands over or loses it
   * leaves it, and its children stay in the trace all the same.
   */
  operation(operation: OperationTrace): Span
  /** Sends what is there, within bounds. Never rejects. */
  close(): Promise<void>
}

/** Where a request comes from that begins an operation. */
export interface Origin {
  /** `X-Request-ID`, the client's or ours; at most 128 characters. */
  readonly requestId: string
  readonly span: Span
  /** Who asks, as the record of an operation keeps it for the audit log; absent where none is written. */
  readonly by?: () => string
  /** Called once something was accepted, with its op, or once it turned out that nothing had to be. */
  readonly onAccepted?: (op: number | undefined, how: 'accepted' | 'joined' | 'repeated') => void
}

/** Version, trace, parent, flags; later versions may add fields, ours is the first. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** @returns undefined for what is no `traceparent` (W3C Trace Context, section 3.2) */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = form.exec(text ?? '') ?? []
  if (!traceId || !spanId || (version === '00' && more !== undefined)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}

export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext) =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`

/** Fields of log lines that name where something comes from; none that are unknown. */
export function originFields(requestId: string | undefined, traceparent: string | undefined) {
  const traceId = parseTraceparent(traceparent)?.traceId
  return { ...(requestId !== undefined && { requestId }), ...(traceId !== undefined && { traceId }) }
}

/** Hands on the trace that others have begun, and records nothing. */
function silentSpan(traceparent: string | undefined): Span {
  const span: Span = { traceparent, child: () => span, end: () => {} }
  return span
}

/** Without a receiver. */
export const noTracing: Tracing = {
  request: traceparent => {
    const context = parseTraceparent(traceparent)
    return silentSpan(context && formatTraceparent(context))
  },
  operation: ({ traceparent }) => silentSpan(traceparent),
  close: async () => {},
}

/** Does something within a span of its own. */
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
