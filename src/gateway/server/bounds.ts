/** How much of a replica one app, and one person, may take. */

/** Keys without anything open that stay: to take one out and in for each request would make tables again and again. */
const mostIdle = 1000

/** Counts what is open for each key, such as requests of an app. */
export class Bound {
  readonly #max: number
  readonly #open = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Takes one more. Returns what gives it back, which may be called again; undefined where the key has its share. */
  take(key: string): (() => void) | undefined {
    const open = this.of(key)
    if (open >= this.#max) return undefined
    this.#open.set(key, open + 1)
    let isOpen = true
    return () => {
      if (isOpen) this.#giveBack(key)
      isOpen = false
    }
  }

  of(key: string): number {
    return this.#open.get(key) ?? 0
  }

  /** The sum over all keys. */
  get total(): number {
    let total = 0
    for (const open of this.#open.values()) total += open
    return total
  }

  #giveBack(key: string): void {
    const open = this.of(key) - 1
    if (open > 0 || this.#open.size <= mostIdle) this.#open.set(key, open)
    else this.#open.delete(key)
  }
}
