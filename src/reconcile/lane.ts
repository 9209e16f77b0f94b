/**
 * Keys that wait, by the shares that they count for. Shares take turns, so nobody fills the lane, however many keys are theirs.
 * Within a share its groups take turns, such as what is begun and what is new, so what is begun ends soon. Within a group the
 * key that waits longest is first. With `passing` that order is partly random, so replicas with the same keys seldom take the
 * same one at a time. Pure, but for chance.
 */

/** A key's urgency, and the time at which it began to wait. */
export interface Asked {
  readonly urgent: boolean
  readonly sinceMs: number
  /** Every replica was asked, and has not yet left it to another. */
  readonly mayLeave: boolean
}

export interface LaneOptions {
  /** How many later keys may pass a key, by chance. Default: none */
  readonly passing?: number
  /** The group of a key in its share. Default: one for all */
  readonly groupOf?: (key: string) => string
  readonly random?: () => number
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

/** The keys that wait in a share, by groups, which take turns. None is empty. */
type Share = Map<string, Map<string, Waiting>>

/** Where a key waits: it may count for another share or group by now. */
interface Place {
  readonly share: string
  readonly group: string
}

export class Lane {
  readonly #shareOf: (key: string) => string
  /** In the order of their turns. None is empty. */
  readonly #shares = new Map<string, Share>()
  readonly #places = new Map<string, Place>()
  readonly #options: Required<LaneOptions>
  #number = 0

  constructor(
    shareOf: (key: string) => string,
    { passing = 0, groupOf = () => '', random = Math.random }: LaneOptions = {},
  ) {
    this.#shareOf = shareOf
    this.#options = { passing, groupOf, random }
  }

  get size(): number {
    return this.#places.size
  }

  get(key: string): Asked | undefined {
    return this.#keysWith(key)?.get(key)?.asked
  }

  /** A key that waits keeps its place. */
  set(key: string, asked: Asked): void {
    const place = this.#places.get(key) ?? { share: this.#shareOf(key), group: this.#options.groupOf(key) }
    this.#places.set(key, place)
    const share = entryOf(this.#shares, place.share, () => new Map())
    const keys = entryOf(share, place.group, () => new Map())
    keys.set(key, { asked, rank: keys.get(key)?.rank ?? this.#nextRank() })
  }

  delete(key: string): void {
    const keys = this.#keysWith(key)
    if (!keys) return
    const { share, group } = this.#places.get(key)!
    keys.delete(key)
    this.#places.delete(key)
    if (keys.size > 0) return
    const groups = this.#shares.get(share)!
    groups.delete(group)
    if (groups.size === 0) this.#shares.delete(share)
  }

  /** The first key of the next group of the next share that may have a place. */
  take(mayTake: (share: string) => boolean): Next | undefined {
    for (const [share, groups] of this.#shares) {
      if (!mayTake(share)) continue
      const [group, keys] = groups.entries().next().value!
      const [key, { asked }] = this.#first(keys)
      this.delete(key)
      // Their turns come again after all others'.
      toEnd(groups, group)
      toEnd(this.#shares, share)
      return { key, share, asked }
    }
    return undefined
  }

  clear(): void {
    this.#shares.clear()
    this.#places.clear()
  }

  #nextRank(): number {
    this.#number += 1
    return this.#number + this.#options.random() * this.#options.passing
  }

  /** No later one has a lower rank than the first of them. */
  #first(keys: ReadonlyMap<string, Waiting>): [string, Waiting] {
    const candidates = keys.entries().take(this.#options.passing + 1)
    return candidates.reduce((first, next) => (next[1].rank < first[1].rank ? next : first))
  }

  /** The keys among which it waits. */
  #keysWith(key: string): Map<string, Waiting> | undefined {
    const place = this.#places.get(key)
    return place && this.#shares.get(place.share)?.get(place.group)
  }
}

function entryOf<T>(map: Map<string, T>, name: string, make: () => T): T {
  const entry = map.get(name) ?? make()
  map.set(name, entry)
  return entry
}

function toEnd<T>(map: Map<string, T>, name: string): void {
  const entry = map.get(name)
  if (entry !== undefined && map.delete(name)) map.set(name, entry)
}
