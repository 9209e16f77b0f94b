/** Decides when a follower of a stream reads again: at once for urgent events, else after a pause that gathers them. */
import { type Clock, notNeeded } from '../base/clock.ts'

/**
 * The minimum time between two readings of a stream, except for urgent ones. Steps may follow each other faster than people
 * read, and each reading costs a script and a packet.
 */
const gatherMs = 400

export class ReadPacer {
  readonly #clock: Clock
  #due = false
  #wake = () => {}
  #gathering = false
  #readAtMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#readAtMs = clock.monotonicMs()
  }

  /** Called on a ring. An `urgent` one is never held back to gather more events. */
  rung(urgent: boolean): void {
    const waitMs = this.#readAtMs + gatherMs - this.#clock.monotonicMs()
    if (urgent || waitMs <= 0) this.#release()
    else if (!this.#gathering) this.#gather(waitMs)
  }

  #gather(ms: number): void {
    this.#gathering = true
    this.#clock.after(ms, () => {
      this.#gathering = false
      this.#release()
    })
  }

  /** Resolves when it is time to read: after a ring, or when `limitMs` have passed. */
  async wait(limitMs: number): Promise<void> {
    const woken = new Promise<void>(resolve => {
      this.#wake = resolve
    })
    if (!this.#due) await (Number.isFinite(limitMs) ? this.#waitAtMost(limitMs, woken) : woken)
    this.#due = false
    this.#readAtMs = this.#clock.monotonicMs()
  }

  #release(): void {
    this.#due = true
    this.#wake()
  }

  async #waitAtMost(limitMs: number, woken: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([woken, this.#clock.sleep(limitMs, done.signal).catch(() => {})])
    done.abort(notNeeded)
  }
}
