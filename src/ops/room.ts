/** Room for operations that act. One that waits for the cluster takes none. First come, first served. */
export class Room {
  readonly places: number
  #free: number
  /** Called when places came free that nobody here is queueing for. */
  onFree: () => void = () => {}
  readonly #queue: { readonly need: number; readonly enter: () => void }[] = []

  constructor(places: number) {
    this.places = places
    this.#free = places
  }

  /** Places that could be taken at once. */
  get free(): number {
    return this.#queue.length > 0 ? 0 : this.#free
  }

  /** Takes one place if it can be had at once. */
  tryEnter(): boolean {
    if (this.free === 0) return false
    this.#free -= 1
    return true
  }

  /** Waits for places: one, or all of them for who must be alone. Rejects with the signal's reason. */
  enter(need: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1)
        this.#settle()
        reject(signal.reason)
      }
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const waiter = { need, enter }
      this.#queue.push(waiter)
      signal.addEventListener('abort', leave, { once: true })
      this.#admit()
    })
  }

  /** `tell`: whether `onFree` may be called for it. */
  leave(count: number, tell = true): void {
    if (count === 0) return
    this.#free += count
    this.#settle(tell)
  }

  #settle(tell = true): void {
    this.#admit()
    if (tell && this.free > 0) this.onFree()
  }

  #admit(): void {
    while (this.#queue[0] && this.#queue[0].need <= this.#free) {
      const { need, enter } = this.#queue.shift()!
      this.#free -= need
      enter()
    }
  }
}
