/** Writes an operation's events and fields in order: each event once, each write identified by its place in the stream. */
import type { Clock } from '../base/clock.ts'
import type { Lease } from '../leases/leases.ts'
import type { OperationStore } from '../store/operations.ts'
import type { EndNote, Outcome, OwnerStore } from '../store/owners.ts'
import type { NewEvent, OperationFields, OperationRecord } from '../store/records.ts'
import { insist } from './insist.ts'

export interface JournalParts<F extends OperationFields> {
  readonly owners: Pick<OwnerStore<OperationRecord, F>, 'commit' | 'finish'>
  readonly streams: Pick<OperationStore, 'events'>
  readonly clock: Clock
}

/** The end of an operation. */
export interface End<F extends OperationFields> {
  readonly outcome: Outcome
  /** The last events. */
  readonly events: readonly NewEvent[]
  readonly fields: F | OperationFields
  readonly note: EndNote
}

/** A failpoint between the last check of the lease and the script. */
type Pass = () => void | Promise<void>

const textOf = ([event, data]: NewEvent) => `${event} ${data}`

export class Journal<F extends OperationFields> {
  readonly #parts: JournalParts<F>
  readonly #lease: Lease
  readonly #written = new Set<string>()
  /** The part of `#written` that former owners wrote. */
  #recalled: ReadonlySet<string> = new Set()
  #seq: number
  #progress: number

  constructor(parts: JournalParts<F>, lease: Lease, { seq, progress }: Pick<OperationRecord, 'seq' | 'progress'>) {
    this.#parts = parts
    this.#lease = lease
    this.#seq = seq
    this.#progress = progress
  }

  /** Reads the events of former owners, so that none is written twice. */
  async recall(): Promise<void> {
    const { name, op } = this.#lease
    const read = await this.#persist(() => this.#parts.streams.events(name, op, 0))
    if (!read.found) return
    this.#recalled = new Set(read.events.map(({ event, data }) => textOf([event, data])))
    for (const text of this.#recalled) this.#written.add(text)
  }

  /** Those of these events that nobody has written, each once. */
  unreported(events: readonly NewEvent[]): readonly NewEvent[] {
    const fresh = events.filter(event => !this.#written.has(textOf(event)))
    return [...new Map(fresh.map(event => [textOf(event), event])).values()]
  }

  /** Writes the events that were not written before. */
  async report(events: readonly NewEvent[]): Promise<void> {
    const fresh = this.unreported(events)
    if (fresh.length > 0) await this.write(fresh, {})
  }

  /**
   * Records the result of a step, and its progress if that has grown: a list of steps that begins anew repeats some. The
   * result of the last step is written by `finish`.
   */
  async commit(done: readonly NewEvent[], progress: number, fields: F | OperationFields, pass: Pass): Promise<void> {
    const events = this.#unrecalled(done)
    const grown = progress > this.#progress
    this.#progress = Math.max(this.#progress, progress)
    const all: readonly NewEvent[] = grown ? [...events, ['progress', String(progress)]] : events
    await this.write(all, { ...fields, progress: this.#progress }, pass)
  }

  async write(events: readonly NewEvent[], fields: F | OperationFields, pass?: Pass): Promise<void> {
    await this.#persist(() => this.#parts.owners.commit(this.#lease, this.#seq, events, fields), pass)
    this.#seq += events.length
    for (const event of events) this.#written.add(textOf(event))
  }

  /** Ends the operation. `done`: the events of its last step. */
  async finish(done: readonly NewEvent[], end: End<F>, pass: Pass): Promise<void> {
    const { outcome, events, fields, note } = end
    const all = [...this.#unrecalled(done), ...events]
    await this.#persist(() => this.#parts.owners.finish(this.#lease, this.#seq, all, outcome, fields, note), pass)
  }

  /** Events of a step that is repeated after the death of its owner are written once. */
  #unrecalled(done: readonly NewEvent[]): readonly NewEvent[] {
    return done.filter(event => !this.#recalled.has(textOf(event)))
  }

  /** Retries until Redis answers or the lease ends. */
  #persist<T>(ask: () => Promise<T>, pass?: Pass): Promise<T> {
    const { signal } = this.#lease
    const { clock } = this.#parts
    return insist({ clock, signal, check: () => this.#lease.check() }, async () => {
      await pass?.()
      return ask()
    })
  }
}
