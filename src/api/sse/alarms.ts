/** Alarms that all have the same length, and one timer: an event stream sets two for each batch. */
import type { Clock } from '../../base/clock.ts'

/** Called when the alarm is due. It identifies the alarm. */
export type Ring = () => void

export class Alarms {
  readonly #clock: Clock
  readonly #ms: number
  /** When each is due; the earliest is first, since all have the same length. */
  readonly #due = new Map<Ring, number>()
  /** Cancels the timer, which runs while an alarm is set. */
  #cancel: (() => void) | undefined

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
    this.#cancel ??= this.#wait(this.#ms)
  }

  clear(ring: Ring): void {
    this.#due.delete(ring)
    if (this.#due.size > 0) return
    this.#cancel?.()
    this.#cancel = undefined
  }

  #wait(ms: number): () => void {
    return this.#clock.after(ms, () => this.#ringDue())
  }

  #ringDue(): void {
    this.#cancel = undefined
    const nowMs = this.#clock.monotonicMs()
    const due: Ring[] = []
    for (const [ring, dueMs] of this.#due) {
      if (dueMs > nowMs) {
        this.#cancel = this.#wait(dueMs - nowMs)
        break
      }
      this.#due.delete(ring)
      due.push(ring)
    }
    for (const ring of due) ring()
  }
}
