/** The options of requests to the API server, and the callbacks that observe them. */
import type { Log } from '../base/log.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Exchange } from './exchange.ts'
import type { Refuser } from './refusals.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface CallOptions {
  /**
   * Rejects at once, with the signal's reason. A read is cut off. A write that is on the wire goes on to its answer or
   * its deadline (see `settled`); a write that is not is never sent.
   */
  readonly signal?: AbortSignal | undefined
  /** Appended to the User-Agent, such as `op=… claim=…`; writes are tracked by it. */
  readonly agent?: string | undefined
  /** Logs each attempt, with the fields of the caller. Default: the client's own. */
  readonly log?: Log | undefined
  /** The parent of a span for each attempt; the trace is sent to the server. */
  readonly span?: Span | undefined
  /** The server does everything except store the result. */
  readonly dryRun?: boolean | undefined
  /** A refusal is an expected answer, so it is not reported as a fault. The same holds for dry runs. */
  readonly mayBeRefused?: boolean | undefined
  /**
   * Called before each attempt leaves: it may have waited for a slot, or for its turn to be tried again. An error that it
   * throws ends the request if the signal is aborted with it.
   */
  readonly check?: (() => void) | undefined
  /**
   * Another server answers, behind the API server. Its failures say nothing of the API server, and an answer that is longer
   * ends the attempt.
   */
  readonly aggregated?: { readonly maxBytes: number } | undefined
  /** Called for a write after the last check of its signal, and when its answer has begun but is not used yet. */
  readonly failpoint?: ((place: 'before-send' | 'after-send') => void | Promise<void>) | undefined
}

export interface RequestOptions extends CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** The verb in metrics. Default: from the method. */
  readonly verb?: string
  /** The form of JSON that the answer should have. Default: the resource's own. */
  readonly accept?: string | undefined
  /** Called with the `Date` of an answer, in milliseconds; NaN if it has none. */
  readonly onDate?: ((ms: number) => void) | undefined
  /** Makes the result of the JSON of an answer, once all of it is there. Default: parses it. */
  readonly read?: (json: Buffer) => unknown
}

export interface StreamOptions extends RequestOptions {
  readonly signal: AbortSignal
  /** How long the beginning of the answer may take. Default: `requestTimeoutSeconds`. */
  readonly headTimeoutMs?: number
}

/** A stream that has begun. */
export type OpenStream = Pick<Exchange, 'stream' | 'pause' | 'resume'>

/** Called for every attempt; `code` is the HTTP status, or `error` when there was no answer. */
export type OnRequest = (verb: string, code: string, seconds: number) => void

/** Called for every unexpected refusal (403). */
export type OnRefusal = (verb: string, refuser: Refuser) => void
