/** Arvados' API, as far as a dispatcher needs it. Nothing is tried again here: the next round asks anew. */
import type { Clock } from '../base/clock.ts'
import { outcomeWithin } from '../base/deadline.ts'
import { parseJson } from '../base/json.ts'
import { cleaned, inFull, isKnown, reasonOf } from '../base/reasons.ts'
import type { Answer } from '../http/answer.ts'
import { HttpClient } from '../http/exchange.ts'
import { authorization, type Listed, listedFields, listedOf, type Page, pageOf, recordFields } from './answers.ts'

export const arvadosCalls = ['current', 'list', 'get', 'lock', 'unlock', 'update'] as const
export type ArvadosCall = (typeof arvadosCalls)[number]
/**
 * `busy`: 503, it cannot keep up. `refused`: 4xx, so nothing was done. `gone`: 404. `unclear`: no answer, or one that nobody can
 * read, so that it may have been done.
 */
export const arvadosOutcomes = ['done', 'busy', 'refused', 'gone', 'unclear'] as const
export type ArvadosOutcome = (typeof arvadosOutcomes)[number]

export class ArvadosError extends Error {
  override readonly name = 'ArvadosError'
  readonly outcome: Exclude<ArvadosOutcome, 'done'>
  /** The wait that a 503 asks for. */
  readonly afterMs: number | undefined

  constructor(outcome: ArvadosError['outcome'], message: string, afterMs?: number) {
    super(message)
    this.outcome = outcome
    this.afterMs = afterMs
  }
}

export interface ClientOptions {
  readonly url: URL
  readonly token: string
  /** PEM of authorities that are trusted in addition to the usual ones. */
  readonly authorities?: string | undefined
  readonly clock: Clock
  /** The limit of one call. */
  readonly timeoutMs: number
  readonly onCall: (call: ArvadosCall, outcome: ArvadosOutcome) => void
}

export type Filter = readonly [field: string, operator: '=' | '>' | 'in', value: string | number | readonly string[]]

export interface ListQuery {
  readonly filters: readonly Filter[]
  readonly order: 'uuid' | 'priority desc'
  readonly limit: number
  readonly offset?: number
}

interface Request {
  readonly call: ArvadosCall
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly fields: Readonly<Record<string, string>>
  readonly maxBytes: number
}

/** A page of 500 lines has some 100 KiB; a record may have long variables. */
const [pageBytes, recordBytes, lineBytes] = [2 ** 20, 2 ** 21, 2 ** 16]
/** A longer pause is not believed. */
const mostAfterMs = 60_000

export class ArvadosClient {
  readonly #options: ClientOptions
  readonly #http: HttpClient
  /** The last part of a token is enough for a reader, and a server may repeat that alone. */
  readonly #secrets: readonly string[]
  #token: string | undefined

  constructor(options: ClientOptions) {
    const { timeoutMs, authorities, token } = options
    this.#options = options
    this.#secrets = [token, token.split('/').at(-1)!]
    this.#http = new HttpClient({ maxConnections: 4, connections: { connectTimeoutMs: timeoutMs, authorities } })
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  /** The uuid of our token, by which its locks are known. @throws {ArvadosError} */
  async current(signal?: AbortSignal): Promise<string> {
    if (this.#token !== undefined) return this.#token
    const request = { call: 'current', method: 'GET', maxBytes: lineBytes } as const
    const path = 'api_client_authorizations/current'
    const value = await this.#ask({ ...request, path, fields: { select: JSON.stringify(['uuid']) } }, signal)
    const { data } = authorization.safeParse(value)
    if (!data) throw this.#unreadable('current')
    this.#token = data.uuid
    return data.uuid
  }

  /** @throws {ArvadosError} */
  async list({ filters, order, limit, offset }: ListQuery, signal?: AbortSignal): Promise<Page> {
    const token = await this.current(signal)
    const fields = {
      ...{ filters: JSON.stringify(filters), select: JSON.stringify(listedFields), order, limit: String(limit) },
      ...{ count: 'none', ...(offset ? { offset: String(offset) } : {}) },
    }
    const request = { call: 'list', method: 'GET', path: 'containers', fields, maxBytes: pageBytes } as const
    const page = pageOf(await this.#ask(request, signal), token, limit)
    if (!page) throw this.#unreadable('list')
    return page
  }

  /** The fields that say how to run a container, unchecked. @throws {ArvadosError} */
  get(uuid: string, signal?: AbortSignal): Promise<unknown> {
    const fields = { select: JSON.stringify(recordFields) }
    const request = { call: 'get', method: 'GET', path: `containers/${uuid}`, fields, maxBytes: recordBytes } as const
    return this.#ask(request, signal)
  }

  /** Locks or unlocks it. @returns as it is now. @throws {ArvadosError} */
  async act(call: 'lock' | 'unlock', uuid: string, signal?: AbortSignal): Promise<Listed> {
    return this.#change({ call, method: 'POST', path: `containers/${uuid}/${call}`, fields: {} }, uuid, signal)
  }

  /** @returns as it is now. @throws {ArvadosError} */
  async update(uuid: string, attributes: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Listed> {
    const fields = { container: JSON.stringify(attributes), select: JSON.stringify(listedFields) }
    return this.#change({ call: 'update', method: 'PUT', path: `containers/${uuid}`, fields }, uuid, signal)
  }

  async #change(request: Omit<Request, 'maxBytes'>, uuid: string, signal: AbortSignal | undefined): Promise<Listed> {
    const token = await this.current(signal)
    const listed = listedOf(await this.#ask({ ...request, maxBytes: recordBytes }, signal), token)
    if (listed?.uuid !== uuid) throw this.#unreadable(request.call)
    return listed
  }

  async #ask(request: Request, signal: AbortSignal | undefined): Promise<unknown> {
    const { onCall } = this.#options
    const answer = await this.#exchange(request, signal)
    const error = this.#errorOf(answer, request.call)
    if (error) {
      onCall(request.call, error.outcome)
      throw error
    }
    onCall(request.call, 'done')
    return parseJson((answer as Answer).body.toString())
  }

  #exchange({ method, path, fields, maxBytes }: Request, signal: AbortSignal | undefined): Promise<Answer | Error> {
    const { clock, timeoutMs, url: base, token } = this.#options
    const url = new URL(`arvados/v1/${path}`, base)
    const form = new URLSearchParams(fields).toString()
    if (method === 'GET') url.search = form
    const headers = {
      ...{ Authorization: `Bearer ${token}`, Accept: 'application/json' },
      ...(method !== 'GET' && { 'Content-Type': 'application/x-www-form-urlencoded' }),
    }
    const body = method === 'GET' ? {} : { body: form }
    return outcomeWithin(clock, timeoutMs, signal, limited =>
      this.#http.exchange({ method, url, headers, ...body, maxBytes, signal: limited }),
    )
  }

  /** Redirects are answers that nobody expects: the token goes to no other place. */
  #errorOf(answer: Answer | Error, call: ArvadosCall): ArvadosError | undefined {
    if (answer instanceof Error) {
      const reason = reasonOf(answer, { trustBy: 'dispatch.queue.arvados.caFile', secrets: this.#secrets })
      return new ArvadosError('unclear', `${call}: ${isKnown(reason) ? inFull(reason) : answer.message}`)
    }
    const { status } = answer
    if (status === 200) return undefined
    const message = `${call}: Arvados answers ${status}${this.#wordsOf(answer)}`
    if (status === 503) return new ArvadosError('busy', message, this.#afterMs(answer))
    if (status === 404) return new ArvadosError('gone', message)
    return new ArvadosError(status >= 400 && status < 500 ? 'refused' : 'unclear', message)
  }

  /** Its first error, of which a little is enough to find it in its log. */
  #wordsOf({ body }: Answer): string {
    const { errors } = (parseJson(body.subarray(0, lineBytes).toString()) ?? {}) as { readonly errors?: unknown }
    const [first] = Array.isArray(errors) ? errors : []
    return typeof first === 'string' ? ` (${cleaned(first, this.#secrets).slice(0, 200)})` : ''
  }

  #afterMs(answer: Answer): number | undefined {
    const seconds = Number(answer.header('retry-after') || Number.NaN)
    return Number.isFinite(seconds) ? Math.min(mostAfterMs, Math.max(0, seconds * 1000)) : undefined
  }

  #unreadable(call: ArvadosCall): ArvadosError {
    return new ArvadosError('unclear', `${call}: the answer is not one of Arvados' API`)
  }
}
