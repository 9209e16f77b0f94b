/**
 * Finds operations whose owner no longer extends its lease: by Redis' clock or, in case that has stepped, by a beat that did
 * not change for a whole TTL by our clock.
 */
import type { Clock } from '../base/clock.ts'
import type { Look } from '../store/look.ts'
import type { OwnerStore } from '../store/owners.ts'

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

  /** Frees leases that are over by our clock alone. @returns the names of subjects with orphaned operations */
  async orphans(look: Look, isOurs: (name: string) => boolean): Promise<string[]> {
    const { clock, ttlMs, owners } = this.#options
    const now = clock.monotonicMs()
    const orphans: string[] = []
    for (const { name, beat } of look.owned) {
      if (isOurs(name)) continue
      const before = this.#observed.get(name)
      const observation = before?.beat === beat ? before : { beat, sinceMs: now }
      this.#observed.set(name, observation)
      const still = now - observation.sinceMs >= ttlMs
      if (still) await owners.free(name, beat, ttlMs)
      if (still || beat < look.nowMs) orphans.push(name)
    }
    if (look.all) {
      const owned = new Set(look.owned.map(({ name }) => name))
      for (const name of this.#observed.keys()) if (!owned.has(name)) this.#observed.delete(name)
    }
    return orphans
  }
}
