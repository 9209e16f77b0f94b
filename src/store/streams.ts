/**
 * Reads streams of events for clients, from a place to the end, for any kind of subject. One listener of the bell wakes all
 * readers of a replica, so a waiting client costs nothing.
 *
 * The id of an event is `<series>-<seq>`. A stream has one series after another (a lab has one for each operation, by its
 * op); within a series the numbers have no gaps. A stream that never ends a series leads from one to the next.
 */
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { type Subject, subjectText } from '../base/subject.ts'
import type { Bell } from './bell.ts'
import { Followers } from './followers.ts'
import { ReadPacer } from './read-pacer.ts'
import { SharedReads } from './shared-reads.ts'

/** The longest wait while Redis does not answer or its data are being compared; a ring may end it sooner. */
const retryMs = 2_000

/**
 * Events per reading: bounds the memory for a client that takes nothing, however long a stream grows. More than an
 * operation usually has.
 */
const batchSize = 32

/**
 * Readings at once of clients that catch up. Their replies are long, and the clients of a stream take them together: each
 * lengthens a turn of the event loop, and a new event takes three turns.
 */
const catchUpAtOnce = 1
/** Readings at once after rings: some events each. A ring for all wakes every follower of the replica. */
const followAtOnce = 32

/** A stream that can be read. */
export interface EventStream<Event> {
  /** A ring about this subject wakes the stream's followers. Streams of one subject and incarnation are equal. */
  readonly subject: Subject
  /** Distinguishes subjects of one name, of which one follows another. Default: there is one. */
  readonly incarnation?: string | undefined
  /** Reads at most `limit` events of a series after a place; without `series`, of the current or last series. */
  read(series: number | undefined, afterSeq: number, limit?: number): Promise<StreamRead<Event>>
}

export type StreamRead<Event> =
  | { readonly found: false }
  | {
      readonly found: true
      readonly series: number
      /** True if the series has ended and these are its last events. */
      readonly ended: boolean
      /** The last of these events or, if there are none, of the series. */
      readonly lastSeq: number
      readonly events: readonly Event[]
      /** The series has more events than were requested. */
      readonly more?: true
    }

type Found<Event> = Extract<StreamRead<Event>, { found: true }>

export interface Opening<Event> {
  readonly stream: EventStream<Event>
  /** The id of the client's last event; undefined for the current series from its start. */
  readonly lastEventId: string | undefined
  /** Sent last, without an id, if the stream was lost with Redis' data while it was followed. */
  readonly lost: Event
  /** Aborted when the client leaves before its stream is open. Default: never. */
  readonly signal?: AbortSignal | undefined
}

/** A client's place in one series of a stream. */
export interface Feed<Event> {
  /**
   * Events in order, in batches as they come. Clients at the same place get the same batch. Ends after the last event of a
   * series that has ended, after `lost`, and when `signal` is aborted.
   */
  read(signal: AbortSignal): AsyncIterable<readonly Event[]>
}

export class StreamReader {
  readonly #clock: Clock
  readonly #catchUp = new SharedReads(catchUpAtOnce)
  readonly #followUp = new SharedReads(followAtOnce)
  readonly #followers = new Followers()

  constructor(bell: Pick<Bell, 'on'>, clock: Clock) {
    this.#clock = clock
    bell.on(ring => this.#followers.ring(ring))
  }

  /**
   * Opens a stream after the event that the client names.
   * @returns null if there is none; 'ended' if the client named an event and has all of them
   * @throws {ApiError} 400 when `lastEventId` is not the id of an event
   * @throws the signal's reason when it is aborted while others read
   */
  async open<Event>(opening: Opening<Event>): Promise<Feed<Event> | 'ended' | null> {
    const { stream, lastEventId, signal } = opening
    const place = lastEventId === undefined ? undefined : parseEventId(lastEventId)
    const since = this.#followers.rings
    const first = await readAt(this.#catchUp, stream, place ?? { series: undefined, seq: 0 }, signal)
    // With an id the stream is gone or another subject's, so an event source must stop; without one there is no stream.
    if (!first.found) return place ? 'ended' : null
    if (place && first.ended && first.events.length === 0) return 'ended'
    return { read: signal => this.#follow(opening, { first, since }, signal) }
  }

  async *#follow<Event>(
    { stream, lost }: Opening<Event>,
    { first, since }: { readonly first: Found<Event>; readonly since: number },
    signal: AbortSignal,
  ): AsyncGenerator<readonly Event[]> {
    const pacer = new ReadPacer(this.#clock)
    const off = this.#followers.add(stream.subject, pacer, since)
    const stop = () => pacer.rung(true)
    signal.addEventListener('abort', stop)
    try {
      let read: StreamRead<Event> | null = first
      let { series } = first
      let seq = 0
      while (!signal.aborted) {
        if (read && !read.found) return yield [lost]
        if (read) {
          if (read.events.length > 0) yield read.events
          series = read.series
          seq = read.lastSeq
          if (read.ended) return
        }
        const reads: SharedReads = read?.more ? this.#catchUp : this.#followUp
        if (!read?.more) await pacer.wait(read ? Number.POSITIVE_INFINITY : retryMs)
        if (signal.aborted) return
        // Null if there is no answer now.
        read = await readAt(reads, stream, { series, seq }, signal).catch(() => null)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      off()
    }
  }
}

interface Place {
  /** Undefined: the current or last one. */
  readonly series: number | undefined
  /** The last event before it. */
  readonly seq: number
}

function readAt<Event>(
  reads: SharedReads,
  stream: EventStream<Event>,
  { series, seq }: Place,
  signal: AbortSignal | undefined,
): Promise<StreamRead<Event>> {
  const name = `${subjectText(stream.subject)} ${stream.incarnation ?? ''} ${series ?? ''}-${seq}`
  return reads.read(name, () => stream.read(series, seq, batchSize), signal)
}

/** The place of an event of any stream. @throws {ApiError} 400 */
export function parseEventId(id: string): { readonly series: number; readonly seq: number } {
  const [, series, seq] = /^(\d{1,16})-(\d{1,9})$/.exec(id) ?? []
  if (series === undefined) {
    throw new ApiError(400, {
      msg: 'Last-Event-ID is not the id of an event',
      type: 'malformed',
      loc: ['header', 'last-event-id'],
    })
  }
  return { series: Number(series), seq: Number(seq) }
}
