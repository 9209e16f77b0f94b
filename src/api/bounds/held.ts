/** Bounds on concurrent things in this replica, per user and in total, and the errors beyond them. */
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
   * @returns a function that ends it, to be called once
   * @throws {ApiError} 429 with `Retry-After` when the user has as many as are permitted
   */
  enter(username: string): () => void {
    const leave = this.#held.tryEnter(username)
    if (leave) return leave
    this.#onRefusal()
    throw new ApiError(429, { msg: `too many ${this.#what} at once`, type: 'too_many' }, { 'Retry-After': '1' })
  }

  /** The number of users who hold anything. */
  get users(): number {
    return this.#held.size
  }
}

/** A bound on the total of all users. */
export class TotalLimit {
  readonly #held: Slots
  readonly #what: string
  readonly #onRefusal: () => void

  /** @param what the things counted, in the words of the answer */
  constructor(max: number, what: string, onRefusal: () => void = () => {}) {
    this.#held = new Slots(max)
    this.#what = what
    this.#onRefusal = onRefusal
  }

  /**
   * Adds to the total.
   * @returns a function that subtracts it, to be called once
   * @throws {ApiError} 503 with `Retry-After` when the total would exceed the bound; another replica may have room
   */
  enter(amount = 1): () => void {
    if (this.#held.tryEnter(amount)) return () => this.#held.leave(amount)
    this.#onRefusal()
    throw unavailable(`this replica has too many ${this.#what} at once`)
  }

  /** The total now. */
  get held(): number {
    return this.#held.taken
  }
}

/**
 * Counts one more for a user and in total, or in neither.
 * @returns a function that ends both, to be called once
 * @throws {ApiError} as either bound
 */
export function enterBoth(perUser: PerUserLimit, total: TotalLimit, username: string): () => void {
  const leaveUser = perUser.enter(username)
  try {
    const leaveAll = total.enter()
    return () => {
      leaveUser()
      leaveAll()
    }
  } catch (error) {
    leaveUser()
    throw error
  }
}
