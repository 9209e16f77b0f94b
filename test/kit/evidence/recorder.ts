/** Records the history of a fleet: in memory for the judge, and as NDJSON beside the logs. It contains no secrets. */
import { createHash } from 'node:crypto'
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import type { LabEvent } from '../../../src/base/domain.ts'
import type { Answered, Entry, Invoked, LabValue, Question, Struck, Transcript, Value } from './history.ts'

/** A request in progress. */
export interface RecordedCall {
  answered(status: number, body: unknown): void
  /** No answer came. */
  broke(): void
}

/** An event stream with a reader. */
export interface RecordedStream {
  event(event: LabEvent): void
  ended(end: Transcript['end']): void
}

export interface CallDescription {
  readonly by: string
  readonly method: string
  readonly path: string
  readonly url: string
  readonly idempotencyKey?: string | undefined
}

/** Longer lists are not kept with each answer. */
const longestList = 100

export class Recorder {
  readonly #entries: Entry[] = []
  readonly #open = new Set<RecordedStream>()
  readonly #file: WriteStream
  readonly #completed = new Set<string>()
  readonly #reading = new Set<Promise<void>>()
  #count = 0
  /** Called when a client first sees an operation's `complete`: asks the replicas what they know of it. */
  onComplete: (user: string, op: number) => Promise<void> = async () => {}

  /** `folder`: the logs that a failed test keeps. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.#file = createWriteStream(join(folder, 'history.ndjson'))
  }

  /** Everything recorded so far, including open streams as far as they were read. */
  get history(): readonly Entry[] {
    return this.#entries
  }

  call({ by, method, path, url, idempotencyKey }: CallDescription, after?: number): RecordedCall {
    const id = this.#nextId()
    const { what, user = what === 'user-status' ? by : undefined } = questionOf(method, path)
    const key = idempotencyKey === undefined ? {} : { key: hashOf(idempotencyKey) }
    const about = { ...(user !== undefined && { user }), ...(after !== undefined && { after }) }
    this.#add({ type: 'invoke', id, by, what, url, ...about, ...key, ...now() } satisfies Invoked)
    return {
      answered: (status, body) => {
        const value = status < 300 ? whatMatters(what, body, after !== undefined) : undefined
        this.#add({ type: outcomeOf(status), id, status, ...(value && { value }), ...now() } satisfies Answered)
      },
      broke: () => this.#add({ type: 'unknown', id, ...now() } satisfies Answered),
    }
  }

  /** The stream's entry is written when the stream ends. */
  stream(about: Pick<Transcript, 'user' | 'url' | 'status'> & { lastEventId?: string | undefined }): RecordedStream {
    const { lastEventId, ...rest } = about
    const opened = { type: 'stream', ...rest, ...(lastEventId !== undefined && { lastEventId }), ...now() } as const
    const events: Transcript['events'][number][] = []
    const stream: RecordedStream = {
      event: event => {
        events.push({ ...event, wallMs: Date.now() })
        if (event.event === 'complete' && event.id !== undefined) this.#complete(about.user, event.id)
      },
      ended: end => {
        if (this.#open.delete(stream)) this.#add({ ...opened, events, end })
      },
    }
    this.#open.add(stream)
    return stream
  }

  struck(what: Struck['what'], replica: string, pid: number): void {
    this.#add({ type: 'strike', what, replica, pid, ...now() })
  }

  /** Resolves when every replica that was asked after an end has answered or timed out; then cuts off open streams. */
  async close(): Promise<void> {
    while (this.#reading.size > 0) await Promise.all(this.#reading)
    for (const stream of this.#open) stream.ended('open')
  }

  /** Resolves when everything is in the file. */
  written(): Promise<void> {
    return new Promise(resolve => this.#file.end(resolve))
  }

  #complete(user: string, id: string): void {
    const op = Number(id.split('-')[0])
    const key = `${user} ${op}`
    if (this.#completed.has(key)) return
    this.#completed.add(key)
    const reading = this.onComplete(user, op)
      .catch(() => {})
      .finally(() => this.#reading.delete(reading))
    this.#reading.add(reading)
  }

  #add(entry: Entry): void {
    this.#entries.push(entry)
    if (this.#file.writable) this.#file.write(`${JSON.stringify(entry)}\n`)
  }

  #nextId(): number {
    this.#count += 1
    return this.#count
  }
}

const now = () => ({ wallMs: Date.now(), atMs: Math.round(performance.now()) })

/** A client's key may be anything, even a secret. */
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 16)

const outcomeOf = (status: number): Answered['type'] => (status < 400 ? 'ok' : status < 500 ? 'fail' : 'unknown')

const routes: readonly [method: string, path: RegExp, what: Question][] = [
  ['POST', /^labs\/([^/?]+)\/create$/, 'create'],
  ['DELETE', /^labs\/([^/?]+)$/, 'delete'],
  ['GET', /^labs\/([^/?]+)$/, 'status'],
  ['GET', /^labs\/([^/?]+)\/events$/, 'events'],
  ['GET', /^labs$/, 'labs'],
  ['GET', /^user-status$/, 'user-status'],
]

function questionOf(method: string, path: string): { what: Question; user?: string } {
  for (const [ofMethod, pattern, what] of routes) {
    const match = method === ofMethod ? pattern.exec(path) : null
    if (match) return { what, ...(match[1] !== undefined && { user: decoded(match[1]) }) }
  }
  return { what: 'other' }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function whatMatters(what: Question, body: unknown, whole: boolean): Value | undefined {
  if (what === 'labs' && Array.isArray(body)) return whole || body.length <= longestList ? { names: body } : undefined
  if (what === 'status' || what === 'user-status') return { lab: labValue(body) }
  return undefined
}

/** The part of a lab's status that checks need. */
export function labValue(body: unknown): LabValue {
  const {
    status = '',
    pod,
    internal_url,
    events = [],
  } = (body ?? {}) as {
    status?: string
    pod?: string
    internal_url?: string
    events?: { id?: string }[]
  }
  const id = events.at(-1)?.id
  const op = id === undefined ? undefined : Number(id.split('-')[0])
  return { status, present: pod === 'present', hasUrl: internal_url !== undefined, op, seq: events.length }
}
