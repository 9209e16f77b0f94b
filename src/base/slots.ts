/** A bound on what is done, or held, at once. First come, first served; who needs several places is not passed by. */

import { Listeners } from './listeners.ts'

/** So many wait for a place already that nobody else may. */
export class TooManyWait extends Error {
  override readonly name = 'TooManyWait'
}

export interface SlotsOptions {
  /** How many may wait for places. Default: any number. */
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

  /** Places that could be taken at once: none while somebody waits. */
  get free(): number {
    return this.#waiting.size > 0 ? 0 : this.#free
  }

  get taken(): number {
    return this.places - this.#free
  }

  /** How many wait for places. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Is told when places came free that nobody waits for, unless who left asked not to. */
  onFree(listener: () => void): void {
    this.#onFree.add(listener)
  }

  /** Takes places if they can be had at once. */
  tryEnter(need = 1): boolean {
    if (this.free < need) return false
    this.#free -= need
    return true
  }

  /**
   * Waits for places: one, or all of them for who must be alone.
   * @throws {TooManyWait} when they cannot be had at once, and nobody else may wait; the signal's reason when it comes first
   */
  async enter(need = 1, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.tryEnter(need)) return
    if (this.#waiting.size >= this.#maxWaiting) throw new TooManyWait(`${this.#waiting.size} wait already`)
    await this.#wait(need, signal)
  }

  /** Gives places back. `tell`: whether `onFree` may be called for it. */
  leave(count = 1, tell = true): void {
    if (count === 0) return
    this.#free += count
    this.#settle(tell)
  }

  /** Works in a place. @throws as `enter`, and what the work throws */
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
        this.#settle(true)
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

  #settle(tell: boolean): void {
    for (const waiter of this.#waiting) {
      if (waiter.need > this.#free) break
      this.#waiting.delete(waiter)
      this.#free -= waiter.need
      waiter.enter()
    }
    if (tell && this.free > 0) this.#onFree.tell()
  }
}

/** The same bound for each key apart. Keys that hold nothing are forgotten, or they would add up. */
export class SlotsByKey {
  readonly #places: number
  readonly #byKey = new Map<string, Slots>()

  constructor(places: number) {
    this.#places = places
  }

  /** How many keys hold anything now. */
  get size(): number {
    return this.#byKey.size
  }

  /** @returns to be called, once, when it is over; undefined where the key holds as many places as there are */
  tryEnter(key: string): (() => void) | undefined {
    const slots = this.#of(key)
    if (!slots.tryEnter()) return undefined
    return () => this.#leave(key, slots)
  }

  /** Works when it is the key's turn. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#of(key)
    await slots.enter()
    try {
      return await work()
    } finally {
      this.#leave(key, slots)
    }
  }

  #of(key: string): Slots {
    const slots = this.#byKey.get(key) ?? new Slots(this.#places)
    this.#byKey.set(key, slots)
    return slots
  }

  #leave(key: string, slots: Slots): void {
    slots.leave()
    if (slots.taken === 0) this.#byKey.delete(key)
  }
}
