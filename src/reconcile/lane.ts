/**
 * Keys that wait, by the shares that they count for: shares take turns, and within a share the key that waits longest is first.
 * So nobody fills the lane, however many keys are theirs. Pure.
 */

/** The urgency of a key, and the time at which it began to wait. */
export interface Asked {
  readonly urgent: boolean
  readonly sinceMs: number
}

export class Lane {
  readonly #shareOf: (key: string) => string
  /** In the order of their turns. None is empty. */
  readonly #shares = new Map<string, Map<string, Asked>>()
  #size = 0

  constructor(shareOf: (key: string) => string) {
    this.#shareOf = shareOf
  }

  get size(): number {
    return this.#size
  }

  get(key: string): Asked | undefined {
    return this.#shares.get(this.#shareOf(key))?.get(key)
  }

  /** A key that waits keeps its place. */
  set(key: string, asked: Asked): void {
    const share = this.#shareOf(key)
    const keys = this.#shares.get(share) ?? new Map<string, Asked>()
    this.#shares.set(share, keys)
    if (!keys.has(key)) this.#size += 1
    keys.set(key, asked)
  }

  delete(key: string): void {
    const share = this.#shareOf(key)
    const keys = this.#shares.get(share)
    if (!keys?.delete(key)) return
    this.#size -= 1
    if (keys.size === 0) this.#shares.delete(share)
  }

  /** The first key of the next share that may have a place. */
  take(mayTake: (share: string) => boolean): { readonly key: string; readonly asked: Asked } | undefined {
    for (const [share, keys] of this.#shares) {
      if (!mayTake(share)) continue
      const [key, asked] = keys.entries().next().value!
      this.delete(key)
      // Its turn comes again after all others'.
      if (this.#shares.delete(share)) this.#shares.set(share, keys)
      return { key, asked }
    }
    return undefined
  }

  clear(): void {
    this.#shares.clear()
    this.#size = 0
  }
}
