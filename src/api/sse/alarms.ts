/** Alarms that all have the same length, and one timer: an event stream sets two for each batch. */
import { type Clock, notNeeded } from '../../base/clock.ts'

/** Called when the alarm is due. It identifies the alarm. */
export type Ring = () => void

export class Alarms {
  readonly #clock: Clock
  readonly #ms: number
  /** When each is due; the earliest is first, since all have the same length. */
  readonly #due = new Map<Ring, number>()
  #waiting: AbortController | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Begins the time anew if the alarm is set already. */
  set(ring: Ring): void {
    const dueMs = this.#clock.monotonicMs() + this.#ms
    this.#due.delete(ring)
    this.#due.set(ring, dueMs)
    // Otherwise the timer ends earlier, and then waits for the next one.
    this.#waiting ??= this.#wait(this.#ms)
  }

  clear(ring: Ring): void {
    this.#due.delete(ring)
    if (this.#due.size > 0) return
    this.#waiting?.abort(notNeeded)
    this.#waiting = undefined
  }

  #wait(ms: number): AbortController {
    const waiting = new AbortController()
    this.#clock.sleep(ms, waiting.signal).then(
      () => {
        if (this.#waiting === waiting) this.#ringDue()
      },
      () => {},
    )
    return waiting
  }

  #ringDue(): void {
    this.#waiting = undefined
    const nowMs = this.#clock.monotonicMs()
    const due: Ring[] = []
    for (const [ring, dueMs] of this.#due) {
      if (dueMs > nowMs) {
        this.#waiting = this.#wait(dueMs - nowMs)
        break
      }
      this.#due.delete(ring)
      due.push(ring)
    }
    for (const ring of due) ring()
  }
}
