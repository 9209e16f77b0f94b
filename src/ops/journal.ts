/** What an operation tells and records, in order: each event once, each write known by its place in the stream. */
import type { Clock } from '../base/clock.ts'
import { ApiError, RetryLater } from '../base/errors.ts'
import type { Lease } from '../leases/leases.ts'
import type { LabStore } from '../store/labs.ts'
import type { EndNote, Outcome, OwnerStore } from '../store/owners.ts'
import type { LabRecord, NewEvent, RecordFields } from '../store/records.ts'

export interface JournalParts {
  readonly owners: OwnerStore
  readonly labs: LabStore
  readonly clock: Clock
}

/** A place between the last look at the lease and the script, where a test may strike. */
type Pass = () => void | Promise<void>

const retryMs = 100

const textOf = ([event, data]: NewEvent) => `${event} ${data}`

export class Journal {
  readonly #parts: JournalParts
  readonly #lease: Lease
  readonly #told = new Set<string>()
  /** Of those, what former owners told. */
  #recalled: ReadonlySet<string> = new Set()
  #seq: number
  #progress: number

  constructor(parts: JournalParts, lease: Lease, { seq, progress }: Pick<LabRecord, 'seq' | 'progress'>) {
    this.#parts = parts
    this.#lease = lease
    this.#seq = seq
    this.#progress = progress
  }

  /** Reads what former owners told, so that nothing is told twice. */
  async recall(): Promise<void> {
    const { user, op } = this.#lease
    const read = await this.#persist(() => this.#parts.labs.events(user, op, 0))
    if (!read.found) return
    this.#recalled = new Set(read.events.map(({ event, data }) => textOf([event, data])))
    for (const text of this.#recalled) this.#told.add(text)
  }

  /** Tells what was not told before. */
  async tell(events: readonly NewEvent[]): Promise<void> {
    const fresh = events.filter(event => !this.#told.has(textOf(event)))
    const distinct = [...new Map(fresh.map(event => [textOf(event), event])).values()]
    if (distinct.length > 0) await this.write(distinct, {})
  }

  /**
   * Records what a step did; progress is told where it has grown. Who resumes after the last step takes all of them once
   * more, and finds them done.
   */
  async commit(done: readonly NewEvent[], progress: number, fields: RecordFields, pass: Pass): Promise<void> {
    const events = done.filter(event => !this.#recalled.has(textOf(event)))
    const grown = progress > this.#progress
    this.#progress = Math.max(this.#progress, progress)
    const all: readonly NewEvent[] = grown ? [...events, ['progress', String(progress)]] : events
    await this.write(all, { ...fields, progress: this.#progress }, pass)
  }

  async write(events: readonly NewEvent[], fields: RecordFields, pass?: Pass): Promise<void> {
    await this.#persist(() => this.#parts.owners.commit(this.#lease, this.#seq, events, fields), pass)
    this.#seq += events.length
    for (const event of events) this.#told.add(textOf(event))
  }

  async finish(
    outcome: Outcome,
    events: readonly NewEvent[],
    fields: RecordFields,
    note: EndNote,
    pass: Pass,
  ): Promise<void> {
    await this.#persist(() => this.#parts.owners.finish(this.#lease, this.#seq, events, outcome, fields, note), pass)
  }

  /** Asks Redis for as long as the lease lasts. */
  async #persist<T>(ask: () => Promise<T>, pass?: Pass): Promise<T> {
    while (true) {
      this.#lease.check()
      await pass?.()
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof RetryLater || (error instanceof ApiError && error.status === 503))) throw error
        await this.#parts.clock.sleep(retryMs, this.#lease.signal)
      }
    }
  }
}
