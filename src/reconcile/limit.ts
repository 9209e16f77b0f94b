/** How long one turn may write: by the monotonic clock, looked at before each request leaves. */
import type { Clock } from '../base/clock.ts'

/** The turn's time is over. Nothing more is sent. */
export class TurnOver extends Error {
  override readonly name = 'TurnOver'
}

export class TurnLimit {
  readonly #clock: Clock
  readonly #untilMs: number
  readonly #controller = new AbortController()
  readonly #cancel: () => void

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#untilMs = clock.monotonicMs() + ms
    this.#cancel = clock.after(ms, () => this.#end())
  }

  /** Aborted with `TurnOver`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** @throws {TurnOver} after the time, even if no timer has fired yet, as in a process that was stopped */
  check(): void {
    if (this.#clock.monotonicMs() >= this.#untilMs) this.#end()
    this.signal.throwIfAborted()
  }

  release(): void {
    this.#cancel()
  }

  #end(): void {
    this.#controller.abort(new TurnOver('the turn has taken too long'))
  }
}
