/** What is listed in pages, put together within bounds. */
import { RegistryError } from './http.ts'
import type { ListedTag } from './source.ts'

/** More than any list that is within its bound of tags has, also where pages are small or full of other things. */
const maxPages = 10_000

export class TagPages {
  /** Whose tags they are, in words of errors. */
  readonly #owner: string
  readonly #maxTags: number
  readonly #tags = new Map<string, ListedTag>()
  readonly #asked = new Set<string>()

  constructor(owner: string, maxTags: number) {
    this.#owner = owner
    this.#maxTags = maxTags
  }

  /**
   * To be told of each page before it is asked for.
   * @throws {RegistryError} when the pages lead round in a circle, or on and on
   */
  turn(page: string): void {
    if (this.#asked.has(page)) throw new RegistryError(`the pages of the tags of ${this.#owner} lead round in a circle`)
    if (this.#asked.size >= maxPages) {
      throw new RegistryError(`the tags of ${this.#owner} come in more than ${maxPages} pages`)
    }
    this.#asked.add(page)
  }

  /**
   * Each tag counts once: what is pushed while pages are read may stand on two.
   * @throws {RegistryError} when there are more than `maxTags`
   */
  add(tag: ListedTag): void {
    this.#tags.set(tag.tag, tag)
    if (this.#tags.size > this.#maxTags) {
      throw new RegistryError(`there are more than ${this.#maxTags} tags of ${this.#owner} (images.maxTags)`)
    }
  }

  get tags(): readonly ListedTag[] {
    return [...this.#tags.values()]
  }
}
