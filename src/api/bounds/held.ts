/** Bounds on what is held at once in this replica: by one user, and by all together. */
import { ApiError, unavailable } from '../../base/errors.ts'

export class PerUserLimit {
  readonly #max: number
  readonly #what: string
  readonly #onRefusal: () => void
  readonly #held = new Map<string, number>()

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string, onRefusal: () => void = () => {}) {
    this.#max = max
    this.#what = what
    this.#onRefusal = onRefusal
  }

  /**
   * Counts one more for a user.
   * @returns to be called, once, when it is over
   * @throws {ApiError} 429 with `Retry-After` when the user holds as many as is permitted
   */
  enter(username: string): () => void {
    const held = this.#held.get(username) ?? 0
    if (held >= this.#max) {
      this.#onRefusal()
      throw new ApiError(429, { msg: `too many ${this.#what} at once`, type: 'too_many' }, { 'Retry-After': '1' })
    }
    this.#held.set(username, held + 1)
    return () => this.#leave(username)
  }

  /** How many users hold anything now. */
  get users(): number {
    return this.#held.size
  }

  #leave(username: string): void {
    const held = this.#held.get(username) ?? 0
    // Names of users who hold nothing are forgotten, or the map would grow with all who ever came.
    if (held <= 1) this.#held.delete(username)
    else this.#held.set(username, held - 1)
  }
}

/** What all users hold together. */
export class TotalLimit {
  readonly #max: number
  readonly #what: string
  #held = 0

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string) {
    this.#max = max
    this.#what = what
  }

  /**
   * Counts more.
   * @returns to be called, once, when it is over
   * @throws {ApiError} 503 with `Retry-After` when that would be more than is permitted; another replica may have room
   */
  enter(amount = 1): () => void {
    if (this.#held + amount > this.#max) throw unavailable(`this replica has too many ${this.#what} at once`)
    this.#held += amount
    return () => {
      this.#held -= amount
    }
  }

  /** How much is held now. */
  get held(): number {
    return this.#held
  }
}
