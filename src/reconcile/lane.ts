/**
 * Keys that wait, by the shares that they count for: shares take turns, and within a share the key that waits longest is first.
 * So nobody fills the lane, however many keys are theirs. Pure.
 */

/** The urgency of a key, and the time at which it began to wait. */
export interface Asked {
  readonly urgent: boolean
  readonly sinceMs: number
}

interface Next {
  readonly key: string
  readonly share: string
  readonly asked: Asked
}

export class Lane {
  readonly #shareOf: (key: string) => string
  /** In the order of their turns. None is empty. */
  readonly #shares = new Map<string, Map<string, Asked>>()
  /** The share in which a key waits: it may count for another one by now. */
  readonly #shareOfKey = new Map<string, string>()

  constructor(shareOf: (key: string) => string) {
    this.#shareOf = shareOf
  }

  get size(): number {
    return this.#shareOfKey.size
  }

  get(key: string): Asked | undefined {
    return this.#keysBeside(key)?.get(key)
  }

  /** A key that waits keeps its place. */
  set(key: string, asked: Asked): void {
    const share = this.#shareOfKey.get(key) ?? this.#shareOf(key)
    const keys = this.#shares.get(share) ?? new Map<string, Asked>()
    this.#shares.set(share, keys)
    this.#shareOfKey.set(key, share)
    keys.set(key, asked)
  }

  delete(key: string): void {
    const keys = this.#keysBeside(key)
    if (!keys?.delete(key)) return
    if (keys.size === 0) this.#shares.delete(this.#shareOfKey.get(key)!)
    this.#shareOfKey.delete(key)
  }

  /** The first key of the next share that may have a place. */
  take(mayTake: (share: string) => boolean): Next | undefined {
    for (const [share, keys] of this.#shares) {
      if (!mayTake(share)) continue
      const [key, asked] = keys.entries().next().value!
      this.delete(key)
      // Its turn comes again after all others'.
      if (this.#shares.delete(share)) this.#shares.set(share, keys)
      return { key, share, asked }
    }
    return undefined
  }

  clear(): void {
    this.#shares.clear()
    this.#shareOfKey.clear()
  }

  /** The keys of its share, if it waits. */
  #keysBeside(key: string): Map<string, Asked> | undefined {
    const share = this.#shareOfKey.get(key)
    return share === undefined ? undefined : this.#shares.get(share)
  }
}
