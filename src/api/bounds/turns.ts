/** Requests of one user take turns: while somebody sends many at once, those of everybody else come in between. */
import { Slots } from '../../base/slots.ts'

export class Turns {
  readonly #places: number
  readonly #slots = new Map<string, Slots>()

  /** @param places requests of one user that are worked on at once */
  constructor(places: number) {
    this.#places = places
  }

  /** Works when it is the user's turn: first come, first served. */
  async take<T>(username: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#slots.get(username) ?? new Slots(this.#places)
    this.#slots.set(username, slots)
    await slots.take()
    try {
      return await work()
    } finally {
      slots.give()
      // Users without a request are forgotten, or the map would grow with all who ever came.
      if (slots.taken === 0) this.#slots.delete(username)
    }
  }

  /** How many users have a request now. */
  get users(): number {
    return this.#slots.size
  }
}
