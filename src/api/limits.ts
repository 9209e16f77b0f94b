/** Bounds on what one user may hold at once in this replica. */
import { ApiError } from '../errors.ts'

export class PerUserLimit {
  readonly #max: number
  readonly #what: string
  readonly #held = new Map<string, number>()

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string) {
    this.#max = max
    this.#what = what
  }

  /**
   * Counts one more for a user.
   * @returns to be called, once, when it is over
   * @throws {ApiError} 429 with `Retry-After` when the user holds as many as is permitted
   */
  enter(username: string): () => void {
    const held = this.#held.get(username) ?? 0
    if (held >= this.#max) {
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
