/**
 * Requests that are being accepted. They have priority over the operations that they begin, and over readers of events: a
 * client waits for them. Requests of a crowd come one after another, and to all replicas, so that now and then this replica
 * has none. The next one is awaited then.
 */
import type { Clock } from '../base/clock.ts'

/** Operations and readers wait at most this long, however many requests come. */
const patienceMs = 600
/** So many requests within so short a time are a crowd, and the next one is awaited for that time. */
const crowd = { size: 4, withinMs: 40 }
/** The first request after so long a silence may be the first one of a crowd. */
const silenceMs = 500

export class Acceptance {
  readonly #clock: Clock
  #underWay = 0
  /** When the last requests were announced, the oldest first. */
  readonly #announcedMs: number[] = []
  /** Until when the next request of a crowd is awaited. */
  #awaitedUntilMs = Number.NEGATIVE_INFINITY
  #pausing: Promise<void> | undefined
  /** Ends the current wait of a pause. */
  #wake = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A request has come, here or at another replica. It may never be accepted, so it counts only as a part of a crowd. */
  announce(): void {
    const now = this.#clock.monotonicMs()
    const times = this.#announcedMs
    const isFirst = now - (times.at(-1) ?? Number.NEGATIVE_INFINITY) > silenceMs
    times.push(now)
    if (times.length > crowd.size) times.shift()
    const isCrowd = times.length === crowd.size && now - times[0]! < crowd.withinMs
    if (isFirst || isCrowd) this.#awaitedUntilMs = now + crowd.withinMs
  }

  async during<T>(accept: () => Promise<T>): Promise<T> {
    this.#underWay += 1
    try {
      return await accept()
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#wake()
    }
  }

  /** Resolves when no request is being accepted or awaited, or after 600 ms of the first one that waits for that. */
  pause(): Promise<void> {
    if (this.#longestWaitMs() <= 0) return Promise.resolve()
    this.#pausing ??= this.#pause().finally(() => {
      this.#pausing = undefined
    })
    return this.#pausing
  }

  /** How long nothing but a request can end the wait. */
  #longestWaitMs(): number {
    return this.#underWay > 0 ? patienceMs : this.#awaitedUntilMs - this.#clock.monotonicMs()
  }

  async #pause(): Promise<void> {
    const endMs = this.#clock.monotonicMs() + patienceMs
    for (;;) {
      const waitMs = Math.min(this.#longestWaitMs(), endMs - this.#clock.monotonicMs())
      if (waitMs <= 0) return
      await new Promise<void>(resolve => {
        const cancel = this.#clock.after(waitMs, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
  }
}
