/**
 * Work that is due later, with one timer for all of it. A sleep for each would put thousands of listeners on one signal in a
 * storm, and the signal walks them whenever one is added. No I/O except the clock.
 */
import type { Clock } from './clock.ts'
import { Loop, type Rest } from './loop.ts'

/** Work is done at the end of the tick in which it is due: never earlier, and at most this much later. */
const tickMs = 100

export class Later {
  readonly #clock: Clock
  readonly #loop: Loop
  /** Work by the tick that is over when it is due. */
  readonly #byTick = new Map<number, (() => void)[]>()
  #nextTick = Number.POSITIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
    // Work reports its own errors; anything else is a defect.
    const failed = (error: unknown) => {
      throw error
    }
    this.#loop = new Loop({ clock, round: async () => this.#round(), failed })
  }

  /** Does the work once `ms` have passed, and up to 100 ms later; never after `stop`. */
  after(ms: number, work: () => void): void {
    const tick = Math.ceil((this.#clock.monotonicMs() + ms) / tickMs)
    const works = this.#byTick.get(tick)
    if (works) works.push(work)
    else this.#byTick.set(tick, [work])
    if (tick >= this.#nextTick) return
    this.#nextTick = tick
    this.#loop.start()
    this.#loop.wake()
  }

  /** Drops all work that is not done yet, also when work calls it. */
  async stop(): Promise<void> {
    this.#byTick.clear()
    await this.#loop.stop()
  }

  #round(): Rest {
    const nowMs = this.#clock.monotonicMs()
    const due = [...this.#byTick.keys()].filter(tick => tick * tickMs <= nowMs).sort((a, b) => a - b)
    for (const tick of due) {
      const works = this.#byTick.get(tick) ?? []
      this.#byTick.delete(tick)
      for (const work of works) {
        // Work may call `stop`.
        if (this.#loop.signal.aborted) return { ms: 0 }
        work()
      }
    }
    this.#nextTick = Math.min(Number.POSITIVE_INFINITY, ...this.#byTick.keys())
    return { ms: this.#nextTick * tickMs - this.#clock.monotonicMs() }
  }
}
