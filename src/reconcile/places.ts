/**
 * Limits the keys that are looked at at the same time. A quarter of the places is for urgent keys alone, and another one for
 * all others, unless the API server is busy: then these have fewer. No share has more than a quarter of the places in each
 * lane: a key that hangs, or is edited again and again, delays others hardly. Pure.
 */

import { Pace } from './pace.ts'

export interface Place {
  readonly share: string
  readonly urgent: boolean
}

export class Places {
  readonly #room: number
  /** Limits of one lane, and of one share in it. */
  readonly #mostOfLane: number
  readonly #mostOfShare: number
  readonly #taken = new Map<string, Place>()
  /** The pace of keys that are not urgent. */
  readonly #pace: Pace

  /** @param room number of places */
  constructor(room: number) {
    this.#room = room
    this.#mostOfLane = Math.max(1, room - Math.ceil(room / 4))
    this.#mostOfShare = Math.max(1, Math.floor(room / 4))
    this.#pace = new Pace(Math.max(1, Math.floor(room / 8)), this.#mostOfLane)
  }

  has(key: string): boolean {
    return this.#taken.has(key)
  }

  /** Whether a lane may have one more. */
  isOpen(urgent: boolean): boolean {
    const most = urgent ? this.#mostOfLane : this.#pace.limit
    return this.#taken.size < this.#room && this.#count(place => place.urgent === urgent) < most
  }

  /** The API server has answered after `ms`. */
  answered(ms: number): void {
    this.#pace.answered(ms)
  }

  /** Whether a share may have one more in a lane that is open. */
  isOpenFor({ share, urgent }: Place): boolean {
    return this.#count(place => place.urgent === urgent && place.share === share) < this.#mostOfShare
  }

  take(key: string, place: Place): void {
    this.#taken.set(key, place)
  }

  leave(key: string): void {
    this.#taken.delete(key)
  }

  #count(isCounted: (place: Place) => boolean): number {
    return [...this.#taken.values()].filter(isCounted).length
  }
}
