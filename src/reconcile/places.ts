/**
 * Limits the keys that are looked at at the same time. A quarter of the places is for urgent keys alone, and another one for
 * all others. No share has more than a quarter of them in each lane: a key that hangs, or is edited again and again, delays
 * others hardly. Pure.
 */

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

  /** @param room number of places */
  constructor(room: number) {
    this.#room = room
    this.#mostOfLane = Math.max(1, room - Math.ceil(room / 4))
    this.#mostOfShare = Math.max(1, Math.floor(room / 4))
  }

  has(key: string): boolean {
    return this.#taken.has(key)
  }

  /** Whether a lane may have one more. */
  isOpen(urgent: boolean): boolean {
    return this.#taken.size < this.#room && this.#count(place => place.urgent === urgent) < this.#mostOfLane
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
