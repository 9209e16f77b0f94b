/**
 * One way to ask a source of identities: JSON by GET, with bounds on everything. An unclear answer is 503, never a
 * guess. The log has the status of a response, and nothing else of it or of the request.
 */
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { Deadline } from '../base/deadline.ts'
import { ApiError, unavailable } from '../base/errors.ts'
import { cleaned, inFull, type Reason, reasonOf } from '../base/reasons.ts'
import { Slots, TooManyWait } from '../base/slots.ts'
import type { Logger } from '../telemetry/log.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { unauthorized } from './provider.ts'

/** Thousands of groups fit. */
const maxBodyBytes = 1_048_576
/** The longest Retry-After that is passed to clients. */
const maxRetryAfterSeconds = 60

/** How an exchange ended, for the metrics. */
export type SourceResult = 'ok' | 'refused' | 'failed'

/** 503 about this question alone: the source answers, and others may get usable answers. */
export class Unclear extends ApiError {
  constructor(msg: string, retryAfterSeconds = 1) {
    super(503, { msg, type: 'unavailable' }, { 'Retry-After': String(retryAfterSeconds) })
  }
}

export interface SourceOptions {
  /** Name of the source in the log. */
  readonly name: string
  readonly timeoutMs: number
  /** Concurrent requests; others wait for a slot, within their time-out. */
  readonly maxInFlight: number
  /** Number of requests that may wait; further ones are refused at once. */
  readonly maxWaiting: number
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly onRequest: (result: SourceResult, seconds: number) => void
}

export class IdentitySource {
  readonly #options: SourceOptions
  readonly #slots: Slots
  readonly #outage: Rarely
  #trouble: Reason | undefined

  constructor(options: SourceOptions) {
    this.#options = options
    this.#slots = new Slots(options.maxInFlight, options)
    const { clock, log, name: source } = options
    const messages = {
      trouble: 'the identity provider cannot be used',
      over: 'the identity provider can be used again',
    }
    this.#outage = new Rarely({ clock, log, fields: { source }, ...messages })
  }

  /** Why the source gives no usable answer; undefined if it does, or was not asked yet. */
  trouble(): Reason | undefined {
    return this.#trouble
  }

  /**
   * Reads the JSON at an address by a schema.
   * @param token the token that the question is about; then 401 and 403 are answers about the token
   * @throws {ApiError} 401, 403, or 503 with `Retry-After`; {Unclear}
   */
  async get<T extends z.ZodType>(url: string, schema: T, token?: string): Promise<z.output<T>> {
    return this.#ask(url, signal => exchange(url, schema, token, signal))
  }

  /**
   * Asks without a token, and expects a refusal.
   * @throws {ApiError} 503
   */
  async reach(url: string): Promise<void> {
    await this.#ask(url, async signal => {
      const response = await send(url, undefined, signal)
      await response.body?.cancel()
      if (![200, 401, 403].includes(response.status)) throw refusal(response, url, false)
    })
  }

  /**
   * Sends a request once, and reads the whole answer. What says that the source cannot answer now is none.
   * @throws {ApiError} 503
   */
  async exchange(url: string, init: Omit<RequestInit, 'redirect' | 'signal'>): Promise<Response> {
    return this.#ask(url, async signal => {
      // Not again where a kept connection was closed: what it changes may have been changed.
      const response = await fetch(url, { ...init, redirect: 'manual', signal })
      const { status, headers } = response
      if (status >= 500 || status === 429) {
        await response.body?.cancel()
        throw refusal(response, url, false)
      }
      return new Response((await readBounded(response)) || null, { status, headers })
    })
  }

  async #ask<T>(url: string, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, timeoutMs, onRequest } = this.#options
    const startMs = clock.monotonicMs()
    const deadline = new Deadline(clock, timeoutMs)
    const report = (result: SourceResult) => onRequest(result, (clock.monotonicMs() - startMs) / 1000)
    try {
      return await this.#slots.run(async () => {
        const value = await question(deadline.signal)
        report('ok')
        this.#worked()
        return value
      }, deadline.signal)
    } catch (error) {
      if (error instanceof ApiError) {
        report('refused')
        this.#worked()
        throw error
      }
      report('failed')
      throw this.#failed(error, url)
    } finally {
      deadline.release()
    }
  }

  #worked(): void {
    this.#trouble = undefined
    this.#outage.worked()
  }

  #failed(error: unknown, url: string): ApiError {
    const noAnswer = noAnswerOf(error)
    const reason = noAnswer ? { words: noAnswer.message, detail: cleaned(url) } : reasonOf(error, hintsFor(url))
    this.#trouble = reason
    this.#outage.failed(inFull(reason))
    const words = `the caller cannot be identified right now: the identity provider cannot be used: ${reason.words}`
    if (noAnswer && !noAnswer.isOutage) return new Unclear(words, noAnswer.retryAfterSeconds)
    return unavailable(words, noAnswer?.retryAfterSeconds)
  }
}

const hintsFor = (url: string) => ({ trustBy: 'NODE_EXTRA_CA_CERTS', clear: url.startsWith('http:') })

/** Thrown when a source does not answer as expected. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly retryAfterSeconds: number
  /** Whether it says something of the source, and not of one question. */
  readonly isOutage: boolean

  constructor(message: string, retryAfterSeconds = 1, isOutage = false) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.isOutage = isOutage
  }
}

function noAnswerOf(error: unknown): NoAnswer | undefined {
  if (error instanceof TooManyWait) return new NoAnswer('too many requests wait for an answer')
  return error instanceof NoAnswer ? error : undefined
}

async function exchange<T extends z.ZodType>(
  url: string,
  schema: T,
  token: string | undefined,
  signal: AbortSignal,
): Promise<z.output<T>> {
  const response = await send(url, token, signal)
  if (response.status !== 200) {
    await response.body?.cancel()
    throw refusal(response, url, token !== undefined)
  }
  const parsed = schema.safeParse(parseJson(await readBounded(response)))
  if (parsed.success) return parsed.data
  const places = parsed.error.issues.map(({ path }) => path.map(String).join('.') || 'the whole')
  throw new NoAnswer(`the answer is malformed at ${[...new Set(places)].slice(0, 5).join(', ')}`)
}

async function send(url: string, token: string | undefined, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (token !== undefined) headers.Authorization = `Bearer ${token}`
  // A token is sent only to the configured address.
  const ask = () => fetch(url, { headers, redirect: 'manual', signal })
  try {
    return await ask()
  } catch (error) {
    // A kept connection that was closed meanwhile says nothing about the source: retry once, on a new one.
    if (signal.aborted || !isClosedConnection(error)) throw error
    return ask()
  }
}

function isClosedConnection(error: unknown): boolean {
  const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
}

function refusal({ status, headers }: Response, url: string, aboutToken: boolean): Error {
  if (aboutToken && status === 401) return unauthorized()
  if (aboutToken && status === 403) {
    return new ApiError(403, { msg: 'the source of identities refuses this token', type: 'forbidden' })
  }
  const retryAfter = headers.get('retry-after') ?? ''
  const seconds = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 1
  const tls = status === 400 && url.startsWith('http:') ? ': the server may expect TLS' : ''
  return new NoAnswer(
    `the answer is ${status}${tls}`,
    Math.min(Math.max(seconds, 1), maxRetryAfterSeconds),
    status >= 500,
  )
}

/** The parser's own message quotes the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new NoAnswer('the answer is not JSON')
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop ends the exchange.
    if (size > maxBodyBytes) throw new NoAnswer(`the answer is larger than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
