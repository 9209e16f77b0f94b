/**
 * Keys that wait, by the shares that they count for: shares take turns, and within a share the key that waits longest is first.
 * So nobody fills the lane, however many keys are theirs. With `passing` the order in a share is partly random, so replicas
 * with the same keys seldom take the same one at a time. Pure, but for chance.
 */

/** A key's urgency, and the time at which it began to wait. */
export interface Asked {
  readonly urgent: boolean
  readonly sinceMs: number
  /** Every replica was asked, and has not yet left it to another. */
  readonly mayLeave: boolean
}

interface Waiting {
  readonly asked: Asked
  /** The lowest in a share is next. */
  readonly rank: number
}

interface Next {
  readonly key: string
  readonly share: string
  readonly asked: Asked
}

export class Lane {
  readonly #shareOf: (key: string) => string
  /** In the order of their turns. None is empty. */
  readonly #shares = new Map<string, Map<string, Waiting>>()
  /** The share in which a key waits: it may count for another one by now. */
  readonly #shareOfKey = new Map<string, string>()
  readonly #passing: number
  readonly #random: () => number
  #number = 0

  /** @param passing how many later keys of its share may pass a key, by chance. Default: none */
  constructor(shareOf: (key: string) => string, passing = 0, random: () => number = Math.random) {
    this.#shareOf = shareOf
    this.#passing = passing
    this.#random = random
  }

  get size(): number {
    return this.#shareOfKey.size
  }

  get(key: string): Asked | undefined {
    return this.#keysBeside(key)?.get(key)?.asked
  }

  /** A key that waits keeps its place. */
  set(key: string, asked: Asked): void {
    const share = this.#shareOfKey.get(key) ?? this.#shareOf(key)
    const keys = this.#shares.get(share) ?? new Map<string, Waiting>()
    this.#shares.set(share, keys)
    this.#shareOfKey.set(key, share)
    keys.set(key, { asked, rank: keys.get(key)?.rank ?? this.#nextRank() })
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
      const [key, { asked }] = this.#first(keys)
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

  #nextRank(): number {
    this.#number += 1
    return this.#number + this.#random() * this.#passing
  }

  /** No later one has a lower rank than the first of them. */
  #first(keys: ReadonlyMap<string, Waiting>): [string, Waiting] {
    const candidates = keys.entries().take(this.#passing + 1)
    return candidates.reduce((first, next) => (next[1].rank < first[1].rank ? next : first))
  }

  /** The keys of its share, if it waits. */
  #keysBeside(key: string): Map<string, Waiting> | undefined {
    const share = this.#shareOfKey.get(key)
    return share === undefined ? undefined : this.#shares.get(share)
  }
}
