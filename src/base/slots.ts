/** A bound on how many may do something at once, first come, first served. */
export class Slots {
  readonly #count: number
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#count = count
    this.#free = count
  }

  /** How many wait for a slot. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Slots that are taken. */
  get taken(): number {
    return this.#count - this.#free
  }

  /** Resolves when a slot is the caller's; rejects with the signal's reason when that comes first. */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        this.#waiting.delete(enter)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.add(enter)
    })
  }

  /** Hands the caller's slot to who has waited longest. */
  give(): void {
    const next = this.#waiting.values().next().value
    if (!next) {
      this.#free += 1
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
