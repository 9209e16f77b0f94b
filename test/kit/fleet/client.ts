/** A client of the API as tests need it: every answer as it came, and event streams with all that they carry. */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { z } from 'zod'
import type { labStatus } from '../../../src/api/labs/schemas.ts'
import type { LabEvent } from '../../../src/base/domain.ts'
import type { Conformance } from '../api/conformance.ts'
import type { RecordedCall, RecordedStream, Recorder } from '../evidence/recorder.ts'

export type StatusAnswer = z.output<typeof labStatus>

/** One answer, its body parsed where it is JSON. */
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

/** An open event stream: its events, and what else came over it. */
export interface EventStream extends AsyncIterable<LabEvent> {
  readonly status: number
  readonly headers: Headers
  /** What `retry:` said. */
  readonly retryMs: () => number | undefined
  readonly comments: readonly string[]
  /** Whether it broke off instead of being closed. */
  readonly broken: () => boolean
  close(): Promise<void>
}

/** One operation, followed to its end over as many connections as it took. */
export interface Followed {
  readonly op: number
  readonly events: readonly LabEvent[]
  /** `complete` or `failed`. */
  readonly outcome: LabEvent['event']
  /** Of the `error` events, in order. */
  readonly errors: readonly string[]
  readonly connections: number
}

export interface FollowOptions {
  /** Where to begin; without it, at the start of the current operation. */
  readonly lastEventId?: string
  readonly signal?: AbortSignal
  /** Of the whole. */
  readonly limitMs?: number
  readonly onEvent?: (event: LabEvent) => void
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Where all that is asked and answered is written down, and what answers are held against. */
export interface Recording {
  readonly recorder: Recorder
  readonly conformance: Conformance
  readonly after?: number
}

/** The headers by which a user is known, where they are not the token of the file. */
export type Credentials = (username: string, token: string) => Readonly<Record<string, string>>

export const defaultOptions = { image_type: 'recommended', size: 'small' } as const

const followLimitMs = 60_000
/** Between one connection and the next, below what `retry:` asks for: tests have many replicas and little time. */
const reconnectMs = 50
const terminal = new Set(['complete', 'failed'])

const prefix = '/nublado/spawner/v1'

export class Client {
  readonly username: string
  readonly token: string
  /** Where the next request goes. */
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

  /** The same user, asking because this operation was just seen to complete. */
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

  /** Deletes somebody's lab; takes an administrator. */
  delete(username: string): Promise<Answer<ErrorBody>> {
    return this.#send(`labs/${encodeURIComponent(username)}`, { method: 'DELETE' })
  }

  /** Somebody's lab; takes an administrator. */
  status(username: string): Promise<Answer<StatusAnswer>> {
    return this.#send(`labs/${encodeURIComponent(username)}`)
  }

  userStatus(): Promise<Answer<StatusAnswer>> {
    return this.#send('user-status')
  }

  /** Users with a running lab; takes an administrator. */
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
   * Follows an operation to its end, coming back with `Last-Event-ID` whenever a connection ends before that, as to
   * whichever replica is next. @throws when ids have a gap or repeat, when progress falls, and when the time is up
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
      // A balancer says 502 for a replica that died with the request in its hands.
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

  /** @throws when it is no answer that the OpenAPI document tells of */
  #conforms(method: string, path: string, { status, headers }: Response, text?: string): void {
    // Of a balancer, which has no replica to ask.
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

/** A replica that is away is no failure of the stream; that the time is up is. */
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
  // What is no stream has a short body, which nobody here reads.
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
    // One iterator for all loops: a loop that was left can be taken up again.
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
 * falls. An event without id, by which a lost stream ends, stands for itself. Gives the op.
 */
export function assertContiguous(events: readonly LabEvent[], firstSeq = 1): number {
  let [op, seq, progress] = [0, firstSeq - 1, 0]
  for (const { id, event, data } of events) {
    if (id === undefined) continue
    const [ofOp, ofSeq] = id.split('-').map(Number)
    const told = `${id} after ${op}-${seq}: ${JSON.stringify(events.map(each => [each.id, each.event, each.data]))}`
    if (op !== 0 && ofOp !== op) throw new Error(`an event of another operation: ${told}`)
    if (ofSeq !== seq + 1) throw new Error(`a gap or a repeat: ${told}`)
    if (data === '') throw new Error(`an event without data: ${told}`)
    if (event === 'progress' && Number(data) < progress) throw new Error(`progress fell: ${told}`)
    if (event === 'progress') progress = Number(data)
    ;[op, seq] = [ofOp!, ofSeq!]
  }
  return op
}
