/** Listeners for one kind of event. They add themselves, so that the source of the event need not know them. */
export class Listeners<T = void> {
  readonly #all = new Set<(value: T) => void>()

  /** @returns a function that removes the listener */
  add(listener: (value: T) => void): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  notify(value: T): void {
    for (const listener of this.#all) listener(value)
  }
}
