/** A map that forgets what was not used for long. */
export class Kept<T> {
  readonly #half: number
  /** Used since the last turn, at which these became the older ones. To put each used one last would cost a table of its own. */
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  /** @param most entries; at least half as many are kept of those that were used last */
  constructor(most: number) {
    this.#half = Math.ceil(most / 2)
  }

  get(key: string): T | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: T): void {
    this.#old.delete(key)
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }
}
