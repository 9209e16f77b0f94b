/**
 * Finds operations whose owner no longer extends its lease: by Redis' clock or, in case that has stepped, by a beat that did
 * not change for a whole TTL by our clock.
 */
import type { Clock } from '../base/clock.ts'
import type { Look, OwnerStore } from '../store/owners.ts'

export interface BeatsOptions {
  readonly owners: Pick<OwnerStore, 'free'>
  readonly clock: Clock
  readonly ttlMs: number
}

interface Observation {
  readonly beat: number
  readonly sinceMs: number
}

export class Beats {
  readonly #options: BeatsOptions
  readonly #observed = new Map<string, Observation>()

  constructor(options: BeatsOptions) {
    this.#options = options
  }

  /** Frees leases that are over by our clock alone. @returns the users of orphaned operations */
  async orphans(look: Look, isOurs: (user: string) => boolean): Promise<string[]> {
    const { clock, ttlMs, owners } = this.#options
    const now = clock.monotonicMs()
    const orphans: string[] = []
    for (const { user, beat } of look.owned) {
      if (isOurs(user)) continue
      const before = this.#observed.get(user)
      const observation = before?.beat === beat ? before : { beat, sinceMs: now }
      this.#observed.set(user, observation)
      const still = now - observation.sinceMs >= ttlMs
      if (still) await owners.free(user, beat, ttlMs)
      if (still || beat < look.nowMs) orphans.push(user)
    }
    if (look.all) {
      const owned = new Set(look.owned.map(({ user }) => user))
      for (const user of this.#observed.keys()) if (!owned.has(user)) this.#observed.delete(user)
    }
    return orphans
  }
}
