/** Finds objects by names that their facts give them, such as those of a user, without a walk through all. */
import type { Fact } from './types.ts'

export class SightIndex {
  readonly #namesOf: (fact: Fact) => Iterable<string>
  /** Keys of objects by name, and names by key of object: of what the watch shows, and of the answer that is laid over it. */
  readonly #keys = new Map<string, Set<string>>()
  readonly #names = new Map<string, readonly string[]>()

  /** @param namesOf pure */
  constructor(namesOf: (fact: Fact) => Iterable<string>) {
    this.#namesOf = namesOf
  }

  /** @param facts all that an object may be seen as from now on */
  put(key: string, facts: readonly (Fact | undefined)[]): void {
    for (const name of this.#names.get(key) ?? []) {
      const keys = this.#keys.get(name)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(name)
    }
    const names = [...new Set(facts.flatMap(fact => (fact ? [...this.#namesOf(fact)] : [])))]
    if (names.length > 0) this.#names.set(key, names)
    else this.#names.delete(key)
    for (const name of names) this.#keys.set(name, (this.#keys.get(name) ?? new Set()).add(key))
  }

  /** @param get what an object is seen as now */
  get(name: string, get: (key: string) => Fact | undefined): Fact[] {
    return [...(this.#keys.get(name) ?? [])].flatMap(key => {
      const fact = get(key)
      return fact && [...this.#namesOf(fact)].includes(name) ? [fact] : []
    })
  }
}
