/** The time in which one turn may write: by the monotonic clock, looked at before each request leaves. */
import type { Clock } from '../base/clock.ts'

/** The turn's time is over. Nothing more is sent. */
export class TurnOver extends Error {
  override readonly name = 'TurnOver'
}

export class TurnLimit {
  readonly #clock: Clock
  readonly #untilMs: number
  readonly #stopping: AbortSignal | undefined
  readonly #controller = new AbortController()
  readonly #cancel: () => void
  #isInterruptible = false
  isInterrupted = false

  /** @param stopping ends the turn too */
  constructor(clock: Clock, ms: number, stopping?: AbortSignal) {
    this.#clock = clock
    this.#stopping = stopping
    this.#untilMs = clock.monotonicMs() + ms
    this.#cancel = clock.after(ms, () => this.#end())
  }

  /** Aborted with `TurnOver`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * @throws {TurnOver} after the time, even if no timer has fired yet, as in a process that was stopped; and when the process
   *   ends
   */
  check(): void {
    if (this.#clock.monotonicMs() >= this.#untilMs || this.#stopping?.aborted) this.#end()
    this.signal.throwIfAborted()
  }

  /** Work that `interrupt` may end. */
  async interruptible<T>(work: () => Promise<T>): Promise<T> {
    this.#isInterruptible = true
    try {
      return await work()
    } finally {
      this.#isInterruptible = false
    }
  }

  /** Ends the turn if it does what is less urgent: what is on the wire goes on, and nothing more is sent. */
  interrupt(): void {
    if (!this.#isInterruptible) return
    this.isInterrupted = true
    this.#end()
  }

  release(): void {
    this.#cancel()
  }

  #end(): void {
    this.#controller.abort(new TurnOver('the turn has taken too long'))
  }
}
