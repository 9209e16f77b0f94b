/** Events for clients: one reader of the bell serves them all, so a waiting client costs nothing. */
import { type Clock, notNeeded } from '../../base/clock.ts'
import type { LabEvent } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import type { Bell } from '../../store/bell.ts'
import type { EventsRead, LabStore } from '../../store/labs.ts'
import type { EventFeed } from './service.ts'

/** Told without id to a client whose operation's stream was lost with Redis' data. */
const lost: LabEvent = { event: 'failed', data: 'The record of this operation was lost' }

/** How long to wait at most where Redis does not answer, or its data are being compared: the bell tells when it is over. */
const retryMs = 2_000

/**
 * At least so long between two readings of an operation's events before its end, which is read at once. Steps may follow
 * each other faster than anybody reads along, and each reading is a script and a packet.
 */
const gatherMs = 250

/** Events read at once: what a reader costs who takes nothing, however long a stream grows. */
const batchSize = 128

type FoundEvents = Extract<EventsRead, { found: true }>

export class Feeds {
  readonly #labs: LabStore
  readonly #clock: Clock
  readonly #readers = new Map<string, Set<Reader>>()

  constructor(labs: LabStore, bell: Bell, clock: Clock) {
    this.#labs = labs
    this.#clock = clock
    bell.on(ring => {
      // What concerns nobody by name concerns all.
      const user = ring.what === 'missed' || ring.what === 'compared' ? undefined : ring.user
      for (const readers of user === undefined ? this.#readers.values() : [this.#readers.get(user) ?? []]) {
        for (const reader of readers) reader.rung(ring.what !== 'events')
      }
    })
  }

  /** As `LabService.events`. */
  async open(user: string, lastEventId: string | undefined): Promise<EventFeed | 'ended' | null> {
    const place = lastEventId === undefined ? undefined : parseId(lastEventId)
    const first = await this.#labs.events(user, place?.op, place?.seq ?? 0, batchSize)
    // A stream that is gone, or another user's, tells an event source to stop; without an id there is just no stream.
    if (!first.found) return place ? 'ended' : null
    if (place && first.ended && first.events.length === 0) return 'ended'
    return { read: signal => this.#follow(user, first, signal) }
  }

  async *#follow(user: string, first: FoundEvents, signal: AbortSignal): AsyncGenerator<readonly LabEvent[]> {
    const reader = new Reader(this.#clock)
    const off = this.#register(user, reader)
    const stop = () => reader.rung(true)
    signal.addEventListener('abort', stop)
    try {
      let read: EventsRead | null = first
      let seq = 0
      while (!signal.aborted) {
        if (read && !read.found) return yield [lost]
        if (read) {
          if (read.events.length > 0) yield read.events
          seq = read.lastSeq
          if (read.ended) return
        }
        if (!read?.more) await reader.turn(read ? Number.POSITIVE_INFINITY : retryMs)
        if (signal.aborted) return
        read = await this.#read(user, first.op, seq)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      off()
    }
  }

  /** Null where there is no answer for now. */
  async #read(user: string, op: number, seq: number): Promise<EventsRead | null> {
    try {
      return await this.#labs.events(user, op, seq, batchSize)
    } catch {
      return null
    }
  }

  #register(user: string, reader: Reader): () => void {
    const readers = this.#readers.get(user) ?? new Set()
    this.#readers.set(user, readers)
    readers.add(reader)
    return () => {
      readers.delete(reader)
      if (readers.size === 0 && this.#readers.get(user) === readers) this.#readers.delete(user)
    }
  }
}

/** When one who follows a stream reads again. */
class Reader {
  readonly #clock: Clock
  #due = false
  #wake = () => {}
  #gathering = false
  #readAtMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#readAtMs = clock.monotonicMs()
    // Between the first reading and the listening something may have happened.
    this.rung(false)
  }

  /** Something happened: `urgent` what must not wait for more of its kind. */
  rung(urgent: boolean): void {
    if (urgent) this.#look()
    if (urgent || this.#gathering) return
    this.#gathering = true
    const waitMs = Math.max(0, this.#readAtMs + gatherMs - this.#clock.monotonicMs())
    this.#clock.sleep(waitMs).then(() => {
      this.#gathering = false
      this.#look()
    })
  }

  /** Resolves when it is time to read: something happened, or `limitMs` have passed. */
  async turn(limitMs: number): Promise<void> {
    const woken = new Promise<void>(resolve => {
      this.#wake = resolve
    })
    if (!this.#due) await (Number.isFinite(limitMs) ? this.#within(limitMs, woken) : woken)
    this.#due = false
    this.#readAtMs = this.#clock.monotonicMs()
  }

  #look(): void {
    this.#due = true
    this.#wake()
  }

  async #within(limitMs: number, woken: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([woken, this.#clock.sleep(limitMs, done.signal).catch(() => {})])
    done.abort(notNeeded)
  }
}

/** @throws {ApiError} 400 when it is none of ours in form */
function parseId(id: string): { op: number; seq: number } {
  const [, op, seq] = /^(\d{1,16})-(\d{1,9})$/.exec(id) ?? []
  if (op === undefined) {
    throw new ApiError(400, {
      msg: 'Last-Event-ID is not the id of an event',
      type: 'malformed',
      loc: ['header', 'last-event-id'],
    })
  }
  return { op: Number(op), seq: Number(seq) }
}
