/** Listeners for one kind of event. They add themselves, so that the source of the event need not know them. */
export class Listeners<T = void> {
  readonly #all = new Set<(value: T) => void>()

  get size(): number {
    return this.#all.size
  }

  /** @returns a function that removes the listener */
  add(listener: (value: T) => void): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  /** Calls every listener, except one. @throws the first error of a listener, after all were called */
  notify(value: T, except?: (value: T) => void): void {
    let failure: { readonly error: unknown } | undefined
    for (const listener of this.#all) {
      if (listener === except) continue
      try {
        listener(value)
      } catch (error) {
        failure ??= { error }
      }
    }
    if (failure) throw failure.error
  }
}

/** Listeners for events of one key each: an event touches only those of its key. Keys without listeners take no memory. */
export class ListenersByKey<T = void> {
  readonly #byKey = new Map<string, Listeners<T>>()

  /** The number of keys with listeners. */
  get size(): number {
    return this.#byKey.size
  }

  /** @returns a function that removes the listener */
  add(key: string, listener: (value: T) => void): () => void {
    const listeners = this.#byKey.get(key) ?? new Listeners<T>()
    this.#byKey.set(key, listeners)
    const remove = listeners.add(listener)
    return () => {
      remove()
      if (listeners.size === 0 && this.#byKey.get(key) === listeners) this.#byKey.delete(key)
    }
  }

  /** Calls the listeners of the key. @throws as `Listeners.notify` */
  notify(key: string, value: T): void {
    this.#byKey.get(key)?.notify(value)
  }

  /** Calls the listeners of every key. @throws as `Listeners.notify`, before the next key */
  notifyAll(value: T): void {
    for (const listeners of this.#byKey.values()) listeners.notify(value)
  }
}
