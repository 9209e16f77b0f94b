/**
 * The bell: one capped stream by which every replica hears what changed, read by one blocking call. Its entries are
 * numbered without gaps; a gap (it was trimmed) or a fall (Redis lost it) means: look at everything again.
 *
 * The connection that listens only reads. It does not notice that its server was demoted, or cut off from the others. So
 * its place is compared with what the commands see, every two seconds.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import { type Connection, type Entry, listenMs } from './connection.ts'
import { pairs } from './records.ts'
import { parseRing, type Ring } from './rings.ts'

/** What is rung within this time after a reading is read by the next one: when much happens, one call serves many. */
const gatherMs = 10
/** How often the place is compared with the newest entry that commands see. */
const compareMs = 2_000
/** How long the two may differ: a lower number is noticed by a reading that has waited for its whole time. */
const lagMs = 1.5 * listenMs

/** The last entry that was heard. Each position is a new object: what was found out about the one before is void. */
interface Place {
  n: number
  epoch: string | undefined
}

const number = (id: string) => Number(id.split('-')[0])

export class Bell {
  readonly #connection: Connection
  readonly #key: string
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<(ring: Ring) => void>()
  readonly #closing = new AbortController()
  /** Undefined until the connection that listens has its place. */
  #place: Place | undefined

  constructor(connection: Connection, key: string, clock: Clock, onError: (error: unknown) => void = () => {}) {
    this.#connection = connection
    this.#key = key
    this.#clock = clock
    this.#onError = onError
  }

  on(listener: (ring: Ring) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Listens until `close`. What was rung before it began is reported as missed. */
  async listen(): Promise<void> {
    // A reading of the former Redis says nothing about this one, and no bell may ever ring for it here.
    const off = this.#connection.onMove(() => this.#tell({ what: 'missed' }))
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
          this.#tell({ what: 'missed' })
        }
        if (await this.#hear(this.#place)) await this.#clock.sleep(gatherMs)
      } catch (error) {
        this.#connection.note(error)
        // What is rung until the connection is back may be lost with it, and nothing in the numbers would show it.
        this.#place = undefined
        if (!this.#closed) await this.#clock.sleep(200)
      }
    }
  }

  async #compareForever(): Promise<void> {
    while (await this.#pause(compareMs)) {
      // Without an answer there is nothing to compare with; a reading that hangs has a deadline of its own.
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

  /** @returns whether anything was rung */
  async #hear(place: Place): Promise<boolean> {
    const id = `${place.n}-1`
    const redis = this.#connection.listening
    const answer = (await redis.xread('COUNT', 500, 'BLOCK', listenMs, 'STREAMS', this.#key, id)) as
      | [string, Entry[]][]
      | null
    const entries = (answer?.[0]?.[1] ?? []).map(([id, flat]) => ({ n: number(id), fields: pairs(flat) }))
    const [first] = entries
    // A blocking read is never woken by lower ids, which follow when Redis was emptied.
    if (!first && !(await this.#fell(place))) return false
    if (!first || first.n !== place.n + 1 || first.fields.get('epoch') !== (place.epoch ?? first.fields.get('epoch'))) {
      this.#place = await this.#newest()
      this.#tell({ what: 'missed' })
      return true
    }
    place.epoch = first.fields.get('epoch')
    place.n = entries.at(-1)!.n
    for (const { fields } of entries) {
      const ring = parseRing(fields)
      if (ring) this.#tell(ring)
    }
    return true
  }

  /** A bell begun anew may, by chance, have rung exactly as often as the old one: only the epoch tells them apart. */
  async #fell(place: Place): Promise<boolean> {
    const newest = await this.#newest()
    return newest.n < place.n || newest.epoch !== place.epoch
  }

  async #newest(): Promise<Place> {
    const [entry] = await this.#connection.listening.xrevrange(this.#key, '+', '-', 'COUNT', 1)
    return placeOf(entry)
  }

  #tell(ring: Ring): void {
    for (const listener of this.#listeners) {
      try {
        listener(ring)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}

function placeOf(entry: Entry | undefined): Place {
  return entry ? { n: number(entry[0]), epoch: pairs(entry[1]).get('epoch') } : { n: 0, epoch: undefined }
}
