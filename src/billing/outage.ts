/** While the database does not answer: the reason that waiting bills report, and when it is asked again. */
import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { TableTrouble } from './table.ts'

/** Pauses after failures, whoever fails. */
export const backoff = { baseMs: 500, capMs: 5_000 }
/** A reason stays for so long: one that changes with each attempt would write the status of each LNamespace that waits. */
const reasonMs = 300_000

export class Outage {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #failures = 0
  #untilMs = 0
  #told: { readonly trouble: TableTrouble; readonly sinceMs: number } | undefined

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** @returns the wait before the next attempt */
  failed(trouble: TableTrouble): number {
    const nowMs = this.#clock.monotonicMs()
    this.#failures += 1
    if (!this.#told || nowMs - this.#told.sinceMs >= reasonMs) this.#told = { trouble, sinceMs: nowMs }
    const waitMs = backoffMs(this.#failures, backoff)
    this.#untilMs = nowMs + waitMs
    return waitMs
  }

  over(): void {
    this.#failures = 0
    this.#told = undefined
  }

  /** The trouble to tell while the database is not asked again yet; else undefined. */
  get waiting(): TableTrouble | undefined {
    return this.#clock.monotonicMs() < this.#untilMs ? this.#told?.trouble : undefined
  }
}
