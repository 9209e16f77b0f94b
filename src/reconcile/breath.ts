/**
 * Lets the process do other things among many looks: one at which nothing is to be done has no I/O, so without this thousands of
 * them would be one piece of work.
 */
import type { Clock } from '../base/clock.ts'

/** Work without a rest: by the clock, and by number. */
const mostMs = 10
const mostLooks = 50

export class Breath {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #rested: () => void
  #sinceMs: number | undefined
  #looks = 0

  /** @param rested called after a rest that was needed */
  constructor(clock: Pick<Clock, 'monotonicMs'>, rested: () => void) {
    this.#clock = clock
    this.#rested = rested
  }

  /** Whether one more look may be taken now. */
  isFree(): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs
      setImmediate(() => this.#rest())
    }
    const isFree = this.#looks < mostLooks && nowMs < this.#sinceMs + mostMs
    if (isFree) this.#looks += 1
    return isFree
  }

  #rest(): void {
    const wasNeeded = this.#looks >= mostLooks || this.#clock.monotonicMs() >= (this.#sinceMs ?? 0) + mostMs
    this.#sinceMs = undefined
    this.#looks = 0
    if (wasNeeded) this.#rested()
  }
}
