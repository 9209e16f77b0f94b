/**
 * The bell: one capped stream that announces changes to every replica, read by one blocking call. Its entries are numbered
 * without gaps. After a gap (it was trimmed) or a fall (Redis lost it) replicas look at everything again.
 *
 * The listening connection only reads, so it does not notice that its server was demoted or isolated. Therefore its place
 * is compared every two seconds with the newest entry that the command connection sees.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import { type Connection, type Entry, listenMs } from './connection.ts'
import { valueIn } from './fields.ts'
import { type Missed, parseRing, type Ring } from './rings.ts'

/** The pause after a reading. */
export interface Pauses {
  /** For each ring in it. */
  readonly forRingMs: number
  readonly mostMs: number
}

/**
 * A pause for each ring. A ring that comes alone is heard soon, and under load one call reads many:
 * each call wakes the process twice, which takes longer than the rings that it reads. At less than 100 rings a second the
 * pauses shrink again after a delay, at more they grow.
 */
const soon: Pauses = { forRingMs: 10, mostMs: 50 }
/** How often the place is compared with the newest entry on the command connection. */
const compareMs = 2_000
/** How long the two may differ: a reading notices a lower number only after its whole waiting time. */
const lagMs = 1.5 * listenMs

/** The last entry that was read. Each place is a new object, which makes findings about the previous one void. */
interface Place {
  n: number
  epoch: string | undefined
}

const number = (id: string) => Number(id.split('-')[0])

/** A bell whose rings have a form of their own. */
export class BellOf<R> {
  readonly #connection: Connection
  readonly #key: string
  readonly #clock: Clock
  readonly #parse: (fields: readonly string[]) => R | undefined
  readonly #onError: (error: unknown) => void
  readonly #pauses: Pauses
  readonly #listeners = new Set<(ring: R | Missed) => void>()
  readonly #closing = new AbortController()
  /** Undefined until the listening connection has read its place. */
  #place: Place | undefined

  /**
   * @param parse reads the fields of an entry; rings for which it returns undefined are skipped
   * @param pauses default: rings are heard soon
   */
  constructor(
    connection: Connection,
    key: string,
    clock: Clock,
    parse: (fields: readonly string[]) => R | undefined,
    onError: (error: unknown) => void = () => {},
    pauses: Pauses = soon,
  ) {
    this.#connection = connection
    this.#key = key
    this.#clock = clock
    this.#parse = parse
    this.#onError = onError
    this.#pauses = pauses
  }

  on(listener: (ring: R | Missed) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Listens until `close`. Reports earlier rings as `missed`. */
  async listen(): Promise<void> {
    // A reading of the former Redis does not hold for this one, and no later ring may correct it.
    const off = this.#connection.onMove(() => this.#notify({ what: 'missed' }))
    await Promise.all([this.#hearForever(), this.#compareForever()])
    off()
  }

  close(): void {
    this.#closing.abort(notNeeded)
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  async #hearForever(): Promise<void> {
    while (!this.#closed) {
      try {
        if (!this.#place) {
          this.#place = await this.#newest()
          this.#notify({ what: 'missed' })
        }
        const rings = await this.#hear(this.#place)
        const { forRingMs, mostMs } = this.#pauses
        if (rings > 0) await this.#clock.sleep(Math.min(rings * forRingMs, mostMs))
      } catch (error) {
        this.#connection.note(error)
        // Rings may be lost before the connection is back, and the numbers would not show it.
        this.#place = undefined
        if (!this.#closed) await this.#clock.sleep(200)
      }
    }
  }

  async #compareForever(): Promise<void> {
    while (await this.#pause(compareMs)) {
      // Without an answer there is nothing to compare. A reading that hangs has its own deadline.
      await this.#compare().catch(() => {})
    }
  }

  async #compare(): Promise<void> {
    const place = this.#place
    if (!place) return
    const before = { ...place }
    const newest = placeOf(await this.#connection.newest(this.#key))
    if (this.#connection.reunite()) return
    const fell = newest.n < before.n || (before.epoch !== undefined && newest.epoch !== before.epoch)
    if (!fell && newest.n <= place.n) return
    if (!(await this.#pause(lagMs)) || this.#place !== place) return
    if (fell || place.n < newest.n) this.#connection.listenAnew()
  }

  /** @returns false when the bell is closed */
  async #pause(ms: number): Promise<boolean> {
    await this.#clock.sleep(ms, this.#closing.signal).catch(() => {})
    return !this.#closed
  }

  /** @returns how many rings there were; 1 if some may be lost */
  async #hear(place: Place): Promise<number> {
    const id = `${place.n}-1`
    const redis = this.#connection.listening
    const answer = (await redis.xread('COUNT', 500, 'BLOCK', listenMs, 'STREAMS', this.#key, id)) as
      | [string, Entry[]][]
      | null
    const entries = answer?.[0]?.[1] ?? []
    const first = entries[0] && placeOf(entries[0])
    // Lower ids, which follow when Redis was emptied, never wake a blocking read.
    if (!first && !(await this.#fell(place))) return 0
    if (!first || first.n !== place.n + 1 || first.epoch !== (place.epoch ?? first.epoch)) {
      this.#place = await this.#newest()
      this.#notify({ what: 'missed' })
      return 1
    }
    place.epoch = first.epoch
    place.n = number(entries.at(-1)![0])
    for (const [, fields] of entries) {
      const ring = this.#parse(fields)
      if (ring) this.#notify(ring)
    }
    return entries.length
  }

  /** A new bell may by chance have as many rings as the old one: only the epoch distinguishes them. */
  async #fell(place: Place): Promise<boolean> {
    const newest = await this.#newest()
    return newest.n < place.n || newest.epoch !== place.epoch
  }

  async #newest(): Promise<Place> {
    const [entry] = await this.#connection.listening.xrevrange(this.#key, '+', '-', 'COUNT', 1)
    return placeOf(entry)
  }

  #notify(ring: R | Missed): void {
    for (const listener of this.#listeners) {
      try {
        listener(ring)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}

/** The bell of labs, and of whatever else has subjects. */
export class Bell extends BellOf<Ring> {
  constructor(connection: Connection, key: string, clock: Clock, onError?: (error: unknown) => void) {
    super(connection, key, clock, parseRing, onError)
  }
}

function placeOf(entry: Entry | undefined): Place {
  return entry ? { n: number(entry[0]), epoch: valueIn(entry[1], 'epoch') } : { n: 0, epoch: undefined }
}
