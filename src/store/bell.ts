/**
 * The bell: one capped stream by which every replica hears what changed, read by one blocking call. Its entries are
 * numbered without gaps; a gap (it was trimmed) or a fall (Redis lost it) means: look at everything again.
 */
import type { Clock } from '../clock.ts'
import { type Connection, listenMs } from './connection.ts'
import { pairs } from './records.ts'

export type Ring =
  | {
      /** `compared`: the data of this Redis were compared; it concerns every user. */
      readonly what: 'accepted' | 'events' | 'ended' | 'released' | 'compared'
      readonly user: string
      readonly op: number
    }
  | { readonly what: 'missed' }

/** What is rung within this time after a reading is read by the next one: when much happens, one call serves many. */
const gatherMs = 10

type Entry = [id: string, fields: string[]]

const number = (id: string) => Number(id.split('-')[0])

export class Bell {
  readonly #connection: Connection
  readonly #key: string
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<(ring: Ring) => void>()
  #last = 0
  #epoch: string | undefined
  #closed = false

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
    let positioned = false
    while (!this.#closed) {
      try {
        if (!positioned) {
          await this.#position()
          positioned = true
          this.#tell({ what: 'missed' })
        }
        if (await this.#hear()) await this.#clock.sleep(gatherMs)
      } catch {
        // What is rung until the connection is back may be lost with it, and nothing in the numbers would show it.
        positioned = false
        if (!this.#closed) await this.#clock.sleep(200)
      }
    }
  }

  close(): void {
    this.#closed = true
  }

  /** @returns whether anything was rung */
  async #hear(): Promise<boolean> {
    const id = `${this.#last}-1`
    const redis = this.#connection.listening
    const answer = (await redis.xread('COUNT', 500, 'BLOCK', listenMs, 'STREAMS', this.#key, id)) as
      | [string, Entry[]][]
      | null
    const entries = (answer?.[0]?.[1] ?? []).map(([id, flat]) => ({ n: number(id), fields: pairs(flat) }))
    const [first] = entries
    // A blocking read is never woken by lower ids, which follow when Redis was emptied.
    if (!first && !(await this.#fell())) return false
    if (
      !first ||
      first.n !== this.#last + 1 ||
      first.fields.get('epoch') !== (this.#epoch ?? first.fields.get('epoch'))
    ) {
      await this.#position()
      this.#tell({ what: 'missed' })
      return true
    }
    this.#epoch = first.fields.get('epoch')
    this.#last = entries.at(-1)!.n
    for (const { fields } of entries) {
      const what = fields.get('what') as Exclude<Ring['what'], 'missed'>
      this.#tell({ what, user: fields.get('user') ?? '', op: Number(fields.get('op')) })
    }
    return true
  }

  /** A bell begun anew may, by chance, have rung exactly as often as the old one: only the epoch tells them apart. */
  async #fell(): Promise<boolean> {
    const newest = await this.#newest()
    return (newest?.n ?? 0) < this.#last || newest?.epoch !== this.#epoch
  }

  async #position(): Promise<void> {
    const newest = await this.#newest()
    this.#last = newest?.n ?? 0
    this.#epoch = newest?.epoch
  }

  async #newest(): Promise<{ n: number; epoch: string | undefined } | undefined> {
    const [entry] = await this.#connection.listening.xrevrange(this.#key, '+', '-', 'COUNT', 1)
    return entry && { n: number(entry[0]), epoch: pairs(entry[1]).get('epoch') }
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
