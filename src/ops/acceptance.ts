/** Requests that are being accepted. They have priority over the operations that they begin: a client waits for them. */
import { type Clock, notNeeded } from '../base/clock.ts'

/** New operations wait at most this long, however many requests come. */
const patienceMs = 250

export class Acceptance {
  readonly #clock: Clock
  #underWay = 0
  #pausing: Promise<void> | undefined
  #over = Promise.withResolvers<void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async during<T>(accept: () => Promise<T>): Promise<T> {
    this.#underWay += 1
    try {
      return await accept()
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) {
        this.#over.resolve()
        this.#over = Promise.withResolvers()
      }
    }
  }

  /** Resolves when no request is being accepted, or after 250 ms of the first one that waits for that. */
  pause(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    this.#pausing ??= this.#pause().finally(() => {
      this.#pausing = undefined
    })
    return this.#pausing
  }

  async #pause(): Promise<void> {
    const done = new AbortController()
    await Promise.race([this.#over.promise, this.#clock.sleep(patienceMs, done.signal).catch(() => {})])
    done.abort(notNeeded)
  }
}
