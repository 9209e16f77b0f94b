/** Who is told of something. They join when they are made, so that what tells need not know them. */
export class Listeners<T = void> {
  readonly #all = new Set<(value: T) => void>()

  /** @returns to be called when there is nothing to be told any more */
  add(listener: (value: T) => void): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  tell(value: T): void {
    for (const listener of this.#all) listener(value)
  }
}
