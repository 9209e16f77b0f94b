/** Bounds on what is held at once in this replica, by one user and by all together, and what is answered beyond them. */
import { ApiError, unavailable } from '../../base/errors.ts'
import { Slots, SlotsByKey } from '../../base/slots.ts'

export class PerUserLimit {
  readonly #held: SlotsByKey
  readonly #what: string
  readonly #onRefusal: () => void

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string, onRefusal: () => void = () => {}) {
    this.#held = new SlotsByKey(max)
    this.#what = what
    this.#onRefusal = onRefusal
  }

  /**
   * Counts one more for a user.
   * @returns to be called, once, when it is over
   * @throws {ApiError} 429 with `Retry-After` when the user holds as many as is permitted
   */
  enter(username: string): () => void {
    const leave = this.#held.tryEnter(username)
    if (leave) return leave
    this.#onRefusal()
    throw new ApiError(429, { msg: `too many ${this.#what} at once`, type: 'too_many' }, { 'Retry-After': '1' })
  }

  /** How many users hold anything now. */
  get users(): number {
    return this.#held.size
  }
}

/** What all users hold together. */
export class TotalLimit {
  readonly #held: Slots
  readonly #what: string

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string) {
    this.#held = new Slots(max)
    this.#what = what
  }

  /**
   * Counts more.
   * @returns to be called, once, when it is over
   * @throws {ApiError} 503 with `Retry-After` when that would be more than is permitted; another replica may have room
   */
  enter(amount = 1): () => void {
    if (!this.#held.tryEnter(amount)) throw unavailable(`this replica has too many ${this.#what} at once`)
    return () => this.#held.leave(amount)
  }

  /** How much is held now. */
  get held(): number {
    return this.#held.taken
  }
}
