/** Events for clients: one reader of the bell serves them all, so a waiting client costs nothing. */
import { type Clock, notNeeded } from '../clock.ts'
import type { LabEvent } from '../domain.ts'
import { ApiError } from '../errors.ts'
import type { Bell } from '../store/bell.ts'
import type { EventsRead, LabStore } from '../store/labs.ts'
import type { EventFeed } from './service.ts'

/** Told without id to a client whose operation's stream was lost with Redis' data. */
const lost: LabEvent = { event: 'failed', data: 'The record of this operation was lost' }

/** How long to wait at most where Redis does not answer, or its data are being compared: the bell tells when it is over. */
const retryMs = 2_000

type FoundEvents = Extract<EventsRead, { found: true }>

export class Feeds {
  readonly #labs: LabStore
  readonly #clock: Clock
  readonly #wakers = new Map<string, Set<() => void>>()

  constructor(labs: LabStore, bell: Bell, clock: Clock) {
    this.#labs = labs
    this.#clock = clock
    bell.on(ring => {
      // What concerns nobody by name concerns all.
      const user = ring.what === 'missed' || ring.what === 'compared' ? undefined : ring.user
      for (const wakers of user === undefined ? this.#wakers.values() : [this.#wakers.get(user) ?? []]) {
        for (const wake of [...wakers]) wake()
      }
    })
  }

  /** As `LabService.events`. */
  async open(user: string, lastEventId: string | undefined): Promise<EventFeed | 'ended' | null> {
    const place = lastEventId === undefined ? undefined : parseId(lastEventId)
    const first = await this.#labs.events(user, place?.op, place?.seq ?? 0)
    // A stream that is gone, or another user's, tells an event source to stop; without an id there is just no stream.
    if (!first.found) return place ? 'ended' : null
    if (place && first.ended && first.events.length === 0) return 'ended'
    return { read: signal => this.#follow(user, first, signal) }
  }

  async *#follow(user: string, first: FoundEvents, signal: AbortSignal): AsyncGenerator<readonly LabEvent[]> {
    let changed = false
    let wake = () => {}
    const off = this.#listen(user, () => {
      changed = true
      wake()
    })
    const stop = () => wake()
    signal.addEventListener('abort', stop)
    try {
      // Between the first reading and the listening something may have happened.
      let read: EventsRead | null = first
      changed = true
      let seq = 0
      while (!signal.aborted) {
        if (read && !read.found) return yield [lost]
        if (read) {
          if (read.events.length > 0) yield read.events
          seq = read.lastSeq
          if (read.ended) return
        }
        const woken = new Promise<void>(resolve => {
          wake = resolve
        })
        if (!changed) await (read ? woken : this.#sleepUntil(woken))
        if (signal.aborted) return
        changed = false
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
      return await this.#labs.events(user, op, seq)
    } catch {
      return null
    }
  }

  async #sleepUntil(woken: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([woken, this.#clock.sleep(retryMs, done.signal).catch(() => {})])
    done.abort(notNeeded)
  }

  #listen(user: string, wake: () => void): () => void {
    const wakers = this.#wakers.get(user) ?? new Set()
    this.#wakers.set(user, wakers)
    wakers.add(wake)
    return () => {
      wakers.delete(wake)
      if (wakers.size === 0 && this.#wakers.get(user) === wakers) this.#wakers.delete(user)
    }
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
