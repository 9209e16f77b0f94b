/** A client of the API for tests: it returns raw answers, and event streams with everything in them. */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { z } from 'zod'
import type { labStatus } from '../../../src/api/labs/schemas.ts'
import type { LabEvent } from '../../../src/base/domain.ts'
import type { Conformance } from '../api/conformance.ts'
import type { RecordedCall, RecordedStream, Recorder } from '../evidence/recorder.ts'

export type StatusAnswer = z.output<typeof labStatus>

/** One answer; its body is parsed if it is JSON. */
export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

/** Body of every error. */
export interface ErrorBody {
  readonly detail: readonly {
    readonly msg: string
    readonly type: string
    readonly loc?: readonly (string | number)[]
  }[]
}

/** An open event stream: its events, and its other fields. */
export interface EventStream extends AsyncIterable<LabEvent> {
  readonly status: number
  readonly headers: Headers
  /** The value of `retry:`. */
  readonly retryMs: () => number | undefined
  readonly comments: readonly string[]
  /** Whether the connection broke instead of being closed. */
  readonly broken: () => boolean
  close(): Promise<void>
}

/** One operation, followed to its end over one or more connections. */
export interface Followed {
  readonly op: number
  readonly events: readonly LabEvent[]
  /** `complete` or `failed`. */
  readonly outcome: LabEvent['event']
  /** The `error` events, in order. */
  readonly errors: readonly string[]
  readonly connections: number
}

export interface FollowOptions {
  /** The id to start after. Default: the start of the current operation. */
  readonly lastEventId?: string
  readonly signal?: AbortSignal
  /** Limit of the whole. */
  readonly limitMs?: number
  readonly onEvent?: (event: LabEvent) => void
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Records all requests and answers, and checks the answers. */
export interface Recording {
  readonly recorder: Recorder
  readonly conformance: Conformance
  readonly after?: number
}

/** Headers that identify a user. Default: the token of the tokens file. */
export type Credentials = (username: string, token: string) => Readonly<Record<string, string>>

export const defaultOptions = { image_type: 'recommended', size: 'small' } as const

const followLimitMs = 120_000
/** Time between two connections. `retry:` asks for more, but tests have many replicas and little time. */
const reconnectMs = 50
const terminal = new Set(['complete', 'failed'])

const prefix = '/nublado/spawner/v1'

export class Client {
  readonly username: string
  readonly token: string
  /** The address of the next request. */
  readonly #url: () => string
  readonly #record: Recording | undefined
  readonly #credentials: Credentials

  constructor(
    url: () => string,
    username: string,
    token: string,
    record?: Recording,
    credentials: Credentials = (_, token) => ({ authorization: `Bearer ${token}` }),
  ) {
    this.#url = url
    this.username = username
    this.token = token
    this.#record = record
    this.#credentials = credentials
  }

  /** The same user, at one address. */
  at(url: string): Client {
    return new Client(() => url, this.username, this.token, this.#record, this.#credentials)
  }

  /** The same user; its requests follow the completion of this operation. */
  after(op: number): Client {
    const record = this.#record && { ...this.#record, after: op }
    return new Client(this.#url, this.username, this.token, record, this.#credentials)
  }

  /** One request with this user's token. `path` is below the API's prefix. */
  request<Body = unknown>(path: string, options: RequestOptions = {}): Promise<Answer<Body>> {
    return this.#send<Body>(path, options)
  }

  /** Asks for the user's lab. */
  create(
    options: Readonly<Record<string, unknown>> = defaultOptions,
    more: { readonly env?: Readonly<Record<string, string>>; readonly key?: string } = {},
  ): Promise<Answer<ErrorBody>> {
    const headers: Record<string, string> = more.key === undefined ? {} : { 'idempotency-key': more.key }
    const body = { options, env: more.env ?? {} }
    return this.#send(`labs/${encodeURIComponent(this.username)}/create`, { method: 'POST', headers, body })
  }

  /** Deletes another user's lab; needs an administrator. */
  delete(username: string): Promise<Answer<ErrorBody>> {
    return this.#send(`labs/${encodeURIComponent(username)}`, { method: 'DELETE' })
  }

  /** Another user's lab; needs an administrator. */
  status(username: string): Promise<Answer<StatusAnswer>> {
    return this.#send(`labs/${encodeURIComponent(username)}`)
  }

  userStatus(): Promise<Answer<StatusAnswer>> {
    return this.#send('user-status')
  }

  /** Users with a running lab; needs an administrator. */
  labs(): Promise<Answer<readonly string[]>> {
    return this.#send('labs')
  }

  /** Opens the user's event stream. */
  async events(options: { lastEventId?: string | undefined; signal?: AbortSignal } = {}): Promise<EventStream> {
    const controller = new AbortController()
    const signals = options.signal ? [options.signal, controller.signal] : [controller.signal]
    const headers: Record<string, string> =
      options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }
    const path = `labs/${encodeURIComponent(this.username)}/events`
    const url = this.#url()
    const call = this.#recorded(url, path, {})
    const response = await this.#fetch(url, path, { headers, signal: AbortSignal.any(signals) }).catch(error => {
      call?.broke()
      throw error
    })
    call?.answered(response.status, undefined)
    this.#conforms('GET', path, response)
    const about = { user: this.username, url, status: response.status, lastEventId: options.lastEventId }
    return openStream(response, () => controller.abort(), this.#record?.recorder.stream(about))
  }

  /**
   * Follows an operation to its end. If a connection ends before that, it reconnects with `Last-Event-ID` to the next
   * replica. @throws when ids have a gap or repeat, when progress falls, and when the time is up
   */
  async follow(options: FollowOptions = {}): Promise<Followed> {
    const limit = AbortSignal.timeout(options.limitMs ?? followLimitMs)
    const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit
    const events: LabEvent[] = []
    let connections = 0
    let lastEventId = options.lastEventId
    while (!events.some(({ event }) => terminal.has(event))) {
      if (connections > 0) await pause(reconnectMs, signal, events)
      connections += 1
      const stream = await this.events({ lastEventId, signal }).catch(error => notTaken(error, signal, events))
      // A balancer answers 502 for a replica that died during the request.
      if (stream === null || stream.status === 503 || stream.status === 502) continue
      if (stream.status !== 200) throw new Error(`events of ${this.username}: ${stream.status} after ${lastEventId}`)
      for await (const event of stream) {
        options.onEvent?.(event)
        events.push(event)
        lastEventId = event.id ?? lastEventId
      }
    }
    return summarize(events, connections, seqOf(options.lastEventId) + 1)
  }

  async #send<Body>(path: string, options: RequestOptions = {}): Promise<Answer<Body>> {
    const url = this.#url()
    const call = this.#recorded(url, path, options)
    const fetched = async () => {
      const response = await this.#fetch(url, path, options)
      return { response, text: await response.text() }
    }
    const { response, text } = await fetched().catch(error => {
      call?.broke()
      throw error
    })
    const body = parse(text)
    call?.answered(response.status, body)
    this.#conforms(options.method ?? 'GET', path, response, text)
    return { status: response.status, headers: response.headers, body: body as Body }
  }

  /** @throws if the OpenAPI document does not describe the answer */
  #conforms(method: string, path: string, { status, headers }: Response, text?: string): void {
    // A balancer answered: it found no replica.
    if (headers.get('content-type')?.startsWith('text/html')) return
    this.#record?.conformance.check({ method, path: `${prefix}/${path}`, status, headers, text })
  }

  #recorded(url: string, path: string, { method = 'GET', headers }: RequestOptions): RecordedCall | undefined {
    const idempotencyKey = headers?.['idempotency-key']
    return this.#record?.recorder.call({ by: this.username, method, path, url, idempotencyKey }, this.#record.after)
  }

  #fetch(url: string, path: string, { method = 'GET', headers, body, signal }: RequestOptions): Promise<Response> {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    return fetch(`${url}${prefix}/${path}`, {
      method,
      headers: { ...this.#credentials(this.username, this.token), ...type, ...headers },
      redirect: 'manual',
      signal: signal ?? null,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

/** A missing replica is no failure of the stream. Reaching the time limit is one. */
function notTaken(error: unknown, signal: AbortSignal, events: readonly LabEvent[]): null {
  if (signal.aborted) throw tooLate(events, error)
  return null
}

async function pause(ms: number, signal: AbortSignal, events: readonly LabEvent[]): Promise<void> {
  if (signal.aborted) throw tooLate(events, signal.reason)
  await new Promise(resolve => setTimeout(resolve, ms))
}

const tooLate = (events: readonly LabEvent[], cause: unknown) =>
  new Error(`no last event, but so far: ${JSON.stringify(events.slice(-5))}`, { cause })

async function openStream(
  response: Response,
  abort: () => void,
  record: RecordedStream | undefined,
): Promise<EventStream> {
  let retryMs: number | undefined
  let broken = false
  let left = false
  const comments: string[] = []
  const parser = new EventSourceParserStream({
    onRetry: ms => {
      retryMs = ms
    },
    onComment: comment => comments.push(comment),
  })
  // The body of an answer that is no stream is short, and nobody reads it.
  if (response.status !== 200) await response.body?.cancel()
  const messages =
    response.status === 200 ? response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(parser) : null
  const reader = messages?.getReader()
  async function* read(): AsyncGenerator<LabEvent> {
    while (reader) {
      const next = await reader.read().catch(() => null)
      broken ||= next === null
      if (!next?.value) return record?.ended(left ? 'left' : broken ? 'broken' : 'closed')
      const { event: name, data, id } = next.value
      const event = { event: name as LabEvent['event'], data, ...(id !== undefined && { id }) }
      record?.event(event)
      yield event
    }
    record?.ended('closed')
  }
  const events = read()
  return {
    status: response.status,
    headers: response.headers,
    retryMs: () => retryMs,
    comments,
    broken: () => broken,
    // All loops share one iterator, so a loop can continue where another one stopped.
    [Symbol.asyncIterator]: () => ({ next: () => events.next() }),
    close: async () => {
      left = true
      record?.ended('left')
      abort()
      await reader?.cancel().catch(() => {})
    },
  }
}

const seqOf = (id: string | undefined) => (id === undefined ? 0 : Number(id.split('-')[1]))

function summarize(events: readonly LabEvent[], connections: number, firstSeq: number): Followed {
  const op = assertContiguous(events, firstSeq)
  const last = events.find(({ event }) => terminal.has(event))!
  const errors = events.filter(({ event }) => event === 'error').map(({ data }) => data)
  return { op, events, outcome: last.event, errors, connections }
}

/**
 * Asserts that events are those of one operation, from `firstSeq` on without gap or repeat, and that progress never
 * falls. Skips events without id, with which a lost stream ends. Returns the op.
 */
export function assertContiguous(events: readonly LabEvent[], firstSeq = 1): number {
  let [op, seq, progress] = [0, firstSeq - 1, 0]
  for (const { id, event, data } of events) {
    if (id === undefined) continue
    const [ofOp, ofSeq] = id.split('-').map(Number)
    const place = `${id} after ${op}-${seq}: ${JSON.stringify(events.map(each => [each.id, each.event, each.data]))}`
    if (op !== 0 && ofOp !== op) throw new Error(`an event of another operation: ${place}`)
    if (ofSeq !== seq + 1) throw new Error(`a gap or a repeat: ${place}`)
    if (data === '') throw new Error(`an event without data: ${place}`)
    if (event === 'progress' && Number(data) < progress) throw new Error(`progress fell: ${place}`)
    if (event === 'progress') progress = Number(data)
    ;[op, seq] = [ofOp!, ofSeq!]
  }
  return op
}
