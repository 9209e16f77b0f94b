/** When a follower of a stream reads again: at once for what is urgent, else what comes soon after is read together. */
import { type Clock, notNeeded } from '../base/clock.ts'

/**
 * The least time between two readings of a stream, but for urgent ones. Steps may follow each other faster than anybody
 * reads along, and each reading is a script and a packet.
 */
const gatherMs = 250

export class ReadPacer {
  readonly #clock: Clock
  #due = false
  #wake = () => {}
  #gathering = false
  #readAtMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#readAtMs = clock.monotonicMs()
    // Something may have happened between the first reading and the listening.
    this.rung(false)
  }

  /** Something happened; `urgent` does not wait for more of its kind. */
  rung(urgent: boolean): void {
    if (urgent) this.#look()
    if (urgent || this.#gathering) return
    this.#gathering = true
    const waitMs = Math.max(0, this.#readAtMs + gatherMs - this.#clock.monotonicMs())
    this.#clock.sleep(waitMs).then(() => {
      this.#gathering = false
      this.#look()
    })
  }

  /** Resolves when it is time to read: something happened, or `limitMs` have passed. */
  async turn(limitMs: number): Promise<void> {
    const woken = new Promise<void>(resolve => {
      this.#wake = resolve
    })
    if (!this.#due) await (Number.isFinite(limitMs) ? this.#within(limitMs, woken) : woken)
    this.#due = false
    this.#readAtMs = this.#clock.monotonicMs()
  }

  #look(): void {
    this.#due = true
    this.#wake()
  }

  async #within(limitMs: number, woken: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([woken, this.#clock.sleep(limitMs, done.signal).catch(() => {})])
    done.abort(notNeeded)
  }
}
