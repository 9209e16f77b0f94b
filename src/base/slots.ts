/** A bound on concurrent work. First come, first served: a caller that needs several places is not overtaken. */

import { Listeners } from './listeners.ts'

/** No more callers may wait for a place. */
export class TooManyWait extends Error {
  override readonly name = 'TooManyWait'
}

export interface SlotsOptions {
  /** How many callers may wait for places. Default: any number. */
  readonly maxWaiting?: number
}

interface Waiter {
  readonly need: number
  readonly enter: () => void
}

export class Slots {
  readonly places: number
  readonly #maxWaiting: number
  readonly #waiting = new Set<Waiter>()
  readonly #onFree = new Listeners()
  #free: number

  constructor(places: number, { maxWaiting = Number.POSITIVE_INFINITY }: SlotsOptions = {}) {
    this.places = places
    this.#maxWaiting = maxWaiting
    this.#free = places
  }

  /** Places that can be taken at once: none while a caller waits. */
  get free(): number {
    return this.#waiting.size > 0 ? 0 : this.#free
  }

  get taken(): number {
    return this.places - this.#free
  }

  /** The number of callers that wait for places. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Calls `listener` when places come free without a waiting caller, except where `leave` leaves it out. */
  onFree(listener: () => void): void {
    this.#onFree.add(listener)
  }

  /** Takes places if they are free. */
  tryEnter(need = 1): boolean {
    if (this.free < need) return false
    this.#free -= need
    return true
  }

  /**
   * Waits for places: one, or all of them for work that must be alone.
   * @throws {TooManyWait} when they are not free and no more callers may wait; the signal's reason when it is aborted
   */
  async enter(need = 1, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.tryEnter(need)) return
    if (this.#waiting.size >= this.#maxWaiting) throw new TooManyWait(`${this.#waiting.size} wait already`)
    await this.#wait(need, signal)
  }

  /** Frees places. `except`: a listener of `onFree` that knows. */
  leave(count = 1, except?: () => void): void {
    if (count === 0) return
    this.#free += count
    this.#settle(except)
  }

  /** Runs work in a place. @throws as `enter`, and the work's errors */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.enter(1, signal)
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  #wait(need: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(waiter)
        this.#settle()
        reject(signal?.reason)
      }
      const enter = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const waiter = { need, enter }
      this.#waiting.add(waiter)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  #settle(except?: () => void): void {
    for (const waiter of this.#waiting) {
      if (waiter.need > this.#free) break
      this.#waiting.delete(waiter)
      this.#free -= waiter.need
      waiter.enter()
    }
    if (this.free > 0) this.#onFree.notify(undefined, except)
  }
}

/** The same bound for each key separately. Keys without a taken place are removed, or they would add up. */
export class SlotsByKey {
  readonly #places: number
  readonly #options: SlotsOptions
  readonly #byKey = new Map<string, Slots>()

  /** @param options of each key */
  constructor(places: number, options: SlotsOptions = {}) {
    this.#places = places
    this.#options = options
  }

  /** The number of keys that hold places. */
  get size(): number {
    return this.#byKey.size
  }

  /** @returns a function that frees the place, to be called once; undefined if the key holds all of its places */
  tryEnter(key: string): (() => void) | undefined {
    const slots = this.#of(key)
    if (!slots.tryEnter()) return undefined
    return () => this.#leave(key, slots)
  }

  /**
   * Runs work when a place of the key is free. @throws {TooManyWait} when no more may wait for one of the key; the work's errors
   * @param work may give its place back before it ends
   */
  async run<T>(key: string, work: (leave: () => void) => Promise<T>): Promise<T> {
    const slots = this.#of(key)
    await slots.enter()
    let isIn = true
    const leave = () => {
      if (isIn) this.#leave(key, slots)
      isIn = false
    }
    try {
      return await work(leave)
    } finally {
      leave()
    }
  }

  #of(key: string): Slots {
    const slots = this.#byKey.get(key) ?? new Slots(this.#places, this.#options)
    this.#byKey.set(key, slots)
    return slots
  }

  #leave(key: string, slots: Slots): void {
    slots.leave()
    if (slots.taken === 0) this.#byKey.delete(key)
  }
}
