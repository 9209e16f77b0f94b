/** HTTP for registries: one pool of connections, with limits on time, bytes, attempts and redirects. */
import type { z } from 'zod'
import { type Backoff, backoffMs } from '../../base/backoff.ts'
import type { Clock } from '../../base/clock.ts'
import { outcomeWithin } from '../../base/deadline.ts'
import { isLoopback } from '../../base/loopback.ts'
import { expectsTls, inFull, isKnown, reasonOf } from '../../base/reasons.ts'
import type { Answer } from '../../http/answer.ts'
import { HttpClient, type HttpRequest } from '../../http/exchange.ts'
import { retryAfterMs } from './headers.ts'

export interface HttpOptions {
  readonly clock: Clock
  /** Limit of one attempt, to the end of its answer. */
  readonly timeoutMs: number
  /** PEM of authorities that are trusted in addition to the usual ones. */
  readonly authorities?: string | undefined
}

/** Thrown when a registry gives no usable answer. The message has its host, but nothing of the request. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  /** For clients, without the host. */
  readonly words: string

  constructor(message: string, { words = 'it gives no usable answer', ...options }: RegistryErrorOptions = {}) {
    super(message, options)
    this.words = words
  }
}

interface RegistryErrorOptions extends ErrorOptions {
  readonly words?: string
}

/** The reason for clients why a registry could not be read. */
export const registryWords = (error: unknown): string =>
  error instanceof RegistryError ? error.words : reasonOf(error).words

/** With these waits, a second of refusals. */
const maxAttempts = 3
const backoff: Backoff = { baseMs: 500, capMs: 5_000 }
/** A longer wait is not awaited: the request fails. */
const maxWaitMs = 5_000
const maxRedirects = 5
/** Per host. */
export const maxConnections = 8

const redirects = [301, 302, 303, 307, 308]
/** Codes of connections that end during a request. The end of a kept connection says nothing about the server. */
const endings = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

export class RegistryHttp {
  readonly #options: HttpOptions
  readonly #client: HttpClient

  constructor(options: HttpOptions) {
    const { timeoutMs, authorities } = options
    this.#options = options
    this.#client = new HttpClient({ maxConnections, connections: { connectTimeoutMs: timeoutMs, authorities } })
  }

  /**
   * The answer, whatever its status. 429, 5xx and connections that end are tried again, after `Retry-After` or a wait.
   * The signal ends the waits too.
   * @throws {RegistryError} when there is none within the attempts; the signal's reason when it is aborted
   */
  async send(request: HttpRequest): Promise<Answer> {
    const { clock } = this.#options
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#exchange(request)
      const trouble = troubleOf(result, request.url)
      if (trouble === undefined) return result as Answer
      const askedMs = result instanceof Error ? undefined : retryAfterMs(result.header('retry-after'), clock.wallMs())
      const waitMs = (askedMs ?? 0) + backoffMs(attempt, backoff)
      if (!trouble.passing || attempt >= maxAttempts || waitMs > maxWaitMs) {
        const asked = askedMs === undefined ? '' : ` and asks to wait ${Math.ceil(askedMs / 1000)} s`
        const cause = result instanceof Error ? result : undefined
        throw new RegistryError(trouble.message + asked, { cause, words: trouble.words })
      }
      await clock.sleep(waitMs, request.signal)
    }
  }

  /**
   * As `send`, and follows redirects: to another host without `Authorization`, and only if `mayLeadTo` allows it.
   * @throws {RegistryError} as `send`, and for a redirect that is not allowed
   */
  async follow(request: HttpRequest): Promise<Answer> {
    let { url, headers = {} } = request
    for (let hops = 0; hops <= maxRedirects; hops += 1) {
      const answer = await this.send({ ...request, url, headers })
      if (!redirects.includes(answer.status)) return answer
      const next = URL.canParse(answer.header('location'), url.href) && new URL(answer.header('location'), url)
      if (!next) throw new RegistryError(`${url.host} answered ${answer.status} without saying where to go`)
      if (!mayLeadTo(url, next)) throw new RegistryError(`${url.host} sends to ${next.origin}, which is not trusted`)
      if (next.origin !== url.origin) headers = withoutAuthorization(headers)
      url = next
    }
    throw new RegistryError(`${request.url.host} redirects more than ${maxRedirects} times`)
  }

  /** Closes every connection. */
  close(): Promise<void> {
    return this.#client.close()
  }

  /** An answer, or why there is none. Rejects only with the reason of the request's own signal. */
  #exchange(request: HttpRequest): Promise<Answer | Error> {
    const { clock, timeoutMs } = this.#options
    return outcomeWithin(clock, timeoutMs, request.signal, signal => this.#client.exchange({ ...request, signal }))
  }
}

interface Trouble {
  readonly message: string
  /** For clients. */
  readonly words: string
  /** Whether another attempt may succeed. */
  readonly passing: boolean
}

function troubleOf(result: Answer | Error, { host, protocol }: URL): Trouble | undefined {
  const clear = protocol === 'http:'
  if (result instanceof Error) {
    const { code = '', message } = result as NodeJS.ErrnoException
    const reason = reasonOf(result, { trustBy: 'images.caFile', clear })
    // An error of our own, such as for an answer that is too large, is more specific.
    const full = isKnown(reason) ? inFull(reason) : message || code
    return { message: `${host}: ${full}`, words: reason.words, passing: endings.includes(code) }
  }
  if (clear && result.status === 400 && reasonOf(result.body.toString()).words === expectsTls) {
    return { message: `${host}: ${expectsTls} (it answered 400)`, words: expectsTls, passing: false }
  }
  // 501 means that the method is not supported: an ordinary answer.
  if (result.status !== 429 && (result.status < 500 || result.status === 501)) return undefined
  return { message: `${host} answered ${result.status}`, words: `it answers ${result.status}`, passing: true }
}

/** Whether one host may redirect to another: by TLS, and not from another machine to this one; to itself always. */
export function mayLeadTo(from: URL, to: URL): boolean {
  if (to.origin === from.origin) return true
  if (!['http:', 'https:'].includes(to.protocol)) return false
  return isLoopback(to.host) ? isLoopback(from.host) : to.protocol === 'https:'
}

/** The error for an answer with an unexpected status. */
export const unexpected = ({ url, status }: Answer): RegistryError =>
  new RegistryError(`${url.host} answered ${status}`, { words: `it answers ${status}` })

export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

/**
 * The body of an answer, parsed by a schema.
 * @throws {RegistryError} names the invalid places, and quotes nothing
 */
export function jsonOf<T extends z.ZodType>({ url, body }: Answer, schema: T): z.output<T> {
  const parsed = schema.safeParse(parseJson(body, url.host))
  if (parsed.success) return parsed.data
  const places = new Set(parsed.error.issues.map(({ path }) => path.map(String).join('.') || 'the whole'))
  throw new RegistryError(`the answer of ${url.host} is malformed at ${[...places].slice(0, 3).join(', ')}`)
}

/** The parser's own message quotes the text. */
function parseJson(body: Buffer, host: string): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new RegistryError(`the answer of ${host} is not JSON`)
  }
}

function withoutAuthorization(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'))
}
