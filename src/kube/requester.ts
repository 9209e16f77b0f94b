/** Sends one request to the API server until it is answered: credentials, deadline, limit of concurrency, retries. */
import { type Backoff, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { inFull, type Reason, reasonOf } from '../base/reasons.ts'
import { Slots } from '../base/slots.ts'
import { Rarely } from '../telemetry/rarely.ts'
import type { Span } from '../telemetry/tracing.ts'
import type {
  CallOptions,
  Method,
  OnRefusal,
  OnRequest,
  OpenStream,
  RequestOptions,
  StreamOptions,
} from './call-options.ts'
import { CredentialSource, type Credentials } from './credentials.ts'
import { KubeError } from './errors.ts'
import type { Exchange, Head } from './exchange.ts'
import { resourceOf } from './kinds.ts'
import { isJson, isPassing, isTrustFailure, parse, refusal, troubleOf } from './outcomes.ts'
import { refuserOf } from './refusals.ts'
import { Transport } from './transport.ts'
import { Writes } from './writes.ts'

export interface RequesterOptions {
  readonly kubernetes: {
    readonly kubeconfig?: string | undefined
    readonly context?: string | undefined
    readonly requestTimeoutSeconds: number
    readonly maxInFlight: number
  }
  /** Version of this program. */
  readonly version: string
  /** Name of this replica. */
  readonly replica: string
  readonly clock: Clock
  readonly log: Log
  readonly onRequest?: OnRequest | undefined
  readonly onRefusal?: OnRefusal | undefined
}

/** Attempts at one request before it fails with RetryLater; with these waits, 3 s of refusals. */
const maxAttempts = 5
const backoff: Backoff = { baseMs: 200, capMs: 5_000 }
/** A longer wait is passed to the caller instead of being awaited here. */
const maxWaitMs = 15_000

const verbs: Readonly<Record<Method, string>> = { GET: 'get', POST: 'create', PATCH: 'patch', DELETE: 'delete' }

/** Content types of bodies; all patches are merge patches. */
const contentTypes: Readonly<Partial<Record<Method, string>>> = { PATCH: 'application/merge-patch+json' }

/** A kept connection may be closed by the server just as a request is sent: one such failure is normal. */
const tolerated = 1

interface Call {
  readonly method: Method
  readonly path: string
  readonly body: string | undefined
  readonly verb: string
  readonly signal: AbortSignal | undefined
  readonly agent: string
  readonly log: Log
  readonly span: Span | undefined
  readonly mayBeRefused?: boolean
  readonly check?: CallOptions['check']
  readonly failpoint?: CallOptions['failpoint']
  readonly aggregated?: CallOptions['aggregated']
  readonly onDate?: RequestOptions['onDate']
  readonly read?: RequestOptions['read']
  readonly accept?: RequestOptions['accept']
  readonly endless?: boolean
}

/** An answer of success. */
interface Answer {
  readonly exchange: Exchange
  readonly headers: Head['headers']
}

export class Requester {
  readonly #options: RequesterOptions
  readonly #timeoutMs: number
  readonly #credentials: CredentialSource
  readonly #transport: Transport
  readonly #slots: Slots
  readonly #outage: Rarely
  #trouble: Reason | undefined
  readonly #writes = new Writes()

  constructor(options: RequesterOptions) {
    const { kubernetes, clock, log } = options
    this.#options = options
    this.#timeoutMs = kubernetes.requestTimeoutSeconds * 1000
    this.#credentials = new CredentialSource({ ...kubernetes, clock, log })
    this.#transport = new Transport(this.#timeoutMs, kubernetes.maxInFlight)
    this.#slots = new Slots(kubernetes.maxInFlight)
    const messages = { trouble: 'the Kubernetes API cannot be used', over: 'the Kubernetes API can be used again' }
    this.#outage = new Rarely({ clock, log, tolerated, ...messages })
  }

  /** Why the API server cannot be used, by the last request; undefined if it answered, or was not asked yet. */
  trouble(): Reason | undefined {
    return this.#trouble
  }

  /**
   * The answer's JSON, as `read` makes it. 401, 429, 5xx and lost connections are tried again, after `Retry-After` or a
   * growing wait.
   * @throws {KubeError} when a retry would not help
   * @throws {RetryLater} when the attempts are used up, or the server asks for a long wait
   */
  async request(method: Method, path: string, body?: unknown, options: RequestOptions = {}): Promise<unknown> {
    const call: Call = {
      method,
      path: withQuery(path, options.dryRun ? { ...options.query, dryRun: 'All' } : options.query),
      body: body === undefined ? undefined : JSON.stringify(body),
      verb: options.verb ?? verbs[method],
      signal: options.signal,
      agent: options.agent ?? '',
      log: options.log ?? this.#options.log,
      span: options.span,
      mayBeRefused: options.mayBeRefused ?? options.dryRun ?? false,
      check: options.check,
      failpoint: method === 'GET' ? undefined : options.failpoint,
      aggregated: options.aggregated,
      onDate: options.onDate,
      read: options.read ?? parse,
      accept: options.accept,
    }
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#attempt(call)
      } catch (error) {
        if (call.signal?.aborted) throw call.signal.reason
        await this.#waitToRetry(call, error, failures)
      }
    }
  }

  /**
   * Opens a stream, which begins once the server has answered with success. Takes no slot and is tried once. The signal
   * ends it, by its reason.
   * @throws {KubeError} for any other answer
   */
  async stream(path: string, options: StreamOptions): Promise<OpenStream> {
    const { query, verb = 'watch', signal, agent = '', headTimeoutMs = this.#timeoutMs } = options
    const { log } = this.#options
    const place = { method: 'GET', path: withQuery(path, query), body: undefined } as const
    const call: Call = { ...place, verb, signal, agent, log, span: undefined, endless: true }
    const deadline = new Deadline(this.#options.clock, headTimeoutMs, signal)
    try {
      const { exchange } = await this.#measured(call, deadline, undefined)
      deadline.stopTimer()
      const release = () => deadline.release()
      exchange.body.then(release, release)
      return exchange
    } catch (error) {
      deadline.release()
      throw error
    }
  }

  /** Resolves when no write of this agent is in flight, after a request's deadline at most. Never rejects. */
  settled(agent: string): Promise<void> {
    return this.#writes.settled(agent)
  }

  /** Requests in flight, out of `kubernetes.maxInFlight`, and waiting ones. Watches are not counted. */
  load(): { readonly inFlight: number; readonly waiting: number } {
    return { inFlight: this.#slots.taken, waiting: this.#slots.waiting }
  }

  /** Cuts every connection. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  async #attempt(call: Call): Promise<unknown> {
    await this.#slots.enter(1, call.signal)
    const exchange = this.#exchange(call)
    if (call.method === 'GET') return exchange
    this.#writes.add(call.agent, exchange)
    return unlessAborted(exchange, call.signal)
  }

  /**
   * Ends with the last byte of the answer, or by its deadline even if the network hangs, and then returns its slot. A
   * read ends with its signal too.
   */
  async #exchange(call: Call): Promise<unknown> {
    const write = call.method !== 'GET'
    const deadline = new Deadline(this.#options.clock, this.#timeoutMs, write ? undefined : call.signal)
    try {
      const { exchange, headers } = await this.#measured(call, deadline, write ? call.signal : undefined)
      call.onDate?.(Date.parse(String(headers.date)))
      const body = await exchange.body
      // Anything but JSON is no answer of an API server.
      return isJson(headers) ? call.read?.(body) : parse(body)
    } finally {
      deadline.release()
      this.#slots.leave()
    }
  }

  async #measured(call: Call, deadline: Deadline, startSignal: AbortSignal | undefined): Promise<Answer> {
    const attempt = this.#begin(call)
    let code = 'error'
    try {
      const sent = this.#send(call, deadline.signal, startSignal, attempt.traceparent)
      const { exchange, head } = await unlessAborted(sent, deadline.signal)
      code = String(head.status)
      if (head.status >= 400) throw this.#reported(call, await refusal(head, exchange))
      this.#note(undefined)
      return { exchange, headers: head.headers }
    } catch (error) {
      // An abort by the caller says nothing about the server.
      if (!call.signal?.aborted && !call.aggregated) this.#note(error)
      throw error
    } finally {
      attempt.end(code)
    }
  }

  /** Records the outcome of an attempt, if it would be the same for any request. */
  #note(error: unknown): void {
    const trouble = error === undefined ? undefined : troubleOf(error)
    if (trouble === 'busy') return
    this.#trouble = trouble
    if (trouble) this.#outage.failed(inFull(trouble))
    else this.#outage.worked()
  }

  #reported({ verb, mayBeRefused }: Call, error: KubeError): KubeError {
    const refuser = mayBeRefused ? null : refuserOf(error)
    if (refuser !== null) this.#options.onRefusal?.(verb, refuser)
    return error
  }

  /** Begins an attempt, which is counted, logged and traced when it ends. */
  #begin({ verb, method, path, log, span: parent }: Call) {
    const { clock, onRequest } = this.#options
    const beganMs = clock.monotonicMs()
    const resource = resourceOf(path)
    const span = parent?.child(`${verb} ${resource}`, { kind: 'client', attributes: { 'http.request.method': method } })
    const end = (code: string) => {
      const ms = clock.monotonicMs() - beganMs
      onRequest?.(verb, code, ms / 1000)
      log.debug({ verb, resource, code, ms: Math.round(ms * 10) / 10 }, 'kubernetes request')
      const status = Number(code)
      span?.end({
        ...(status > 0 && { attributes: { 'http.response.status_code': status } }),
        ...(!(status < 400) && { error: code }),
      })
    }
    return { traceparent: span?.traceparent, end }
  }

  async #send(call: Call, signal: AbortSignal, startSignal: AbortSignal | undefined, traceparent: string | undefined) {
    const credentials = await this.#credentials.current()
    try {
      const { method, path, body, endless = false, aggregated } = call
      const bounds = { maxBytes: aggregated?.maxBytes }
      const headers = { ...this.#headers(credentials, call), ...(traceparent !== undefined && { traceparent }) }
      call.check?.()
      if (call.failpoint) await call.failpoint('before-send')
      const exchange = this.#transport.send(credentials, {
        method,
        path,
        body,
        headers,
        signal,
        startSignal,
        endless,
        ...bounds,
      })
      const head = await exchange.head
      if (call.failpoint) await call.failpoint('after-send')
      if (head.status === 401) this.#credentials.refuse(credentials)
      return { exchange, head }
    } catch (error) {
      if (isTrustFailure(error)) this.#credentials.refuse(credentials)
      throw error
    }
  }

  #headers(credentials: Credentials, call: Call): Record<string, string> {
    const { version, replica } = this.#options
    const agent = `skylab/${version} replica=${replica} ${call.agent}`.trimEnd()
    const type = call.body === undefined ? {} : { 'Content-Type': contentTypes[call.method] ?? 'application/json' }
    return { ...credentials.headers, 'User-Agent': agent, Accept: call.accept ?? 'application/json', ...type }
  }

  /** Resolves when the next attempt is due; throws the caller's error if there is none. */
  async #waitToRetry(call: Call, error: unknown, failures: number): Promise<void> {
    if (!isPassing(error)) throw error
    const askedMs = error instanceof KubeError ? error.retryAfterMs : undefined
    const reason = error instanceof KubeError ? error.message : reasonOf(error).words
    const waitMs = (askedMs ?? 0) + backoffMs(failures, backoff)
    if (failures >= maxAttempts || waitMs > maxWaitMs) {
      throw new RetryLater(`Kubernetes does not answer for now: ${reason}`, askedMs, { cause: error })
    }
    call.log.debug({ verb: call.verb, path: call.path, failures, waitMs, reason }, 'kubernetes request retried')
    await this.#options.clock.sleep(waitMs, call.signal)
  }
}

function withQuery(path: string, query: RequestOptions['query']): string {
  if (!query) return path
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(name, String(value))
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`
}
