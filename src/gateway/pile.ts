/**
 * Things that come and go with each request. A `Set` of them makes a new table again and again, and each table before keeps the
 * next one alive, with all that it holds. So whatever was over stayed in memory until it was collected as a whole.
 */
export class Pile<T> {
  readonly #places: Place<T>[] = []

  get size(): number {
    return this.#places.length
  }

  add(item: T): Place<T> {
    const place = new Place(item, this.#places)
    this.#places.push(place)
    return place
  }

  /** All that are in it now, in any order. */
  all(): T[] {
    return this.#places.map(({ item }) => item)
  }
}

/** One thing in a pile. */
export class Place<T> {
  readonly item: T
  readonly #all: Place<T>[]
  /** In the pile; -1: it was taken out. */
  #index: number

  /** @param all places of the pile, of which this becomes the last one */
  constructor(item: T, all: Place<T>[]) {
    this.item = item
    this.#all = all
    this.#index = all.length
  }

  /** Takes it out. Can be called again. */
  remove(): void {
    if (this.#index < 0) return
    const last = this.#all.pop()!
    if (last !== this) {
      this.#all[this.#index] = last
      last.#index = this.#index
    }
    this.#index = -1
  }
}
