/** How long one turn may write: by the monotonic clock, looked at before each request leaves. */
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

  release(): void {
    this.#cancel()
  }

  #end(): void {
    this.#controller.abort(new TurnOver('the turn has taken too long'))
  }
}
