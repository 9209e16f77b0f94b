/** Joins the pages of a list within limits. */
import { RegistryError } from './http.ts'
import type { ListedTag } from './source.ts'

/** More pages than any list within its limit of tags has, even if pages are small or contain other entries. */
const maxPages = 10_000

export class TagPages {
  /** The owner of the tags, for messages. */
  readonly #owner: string
  readonly #maxTags: number
  readonly #tags = new Map<string, ListedTag>()
  readonly #asked = new Set<string>()

  constructor(owner: string, maxTags: number) {
    this.#owner = owner
    this.#maxTags = maxTags
  }

  /**
   * To be called before each request of a page.
   * @throws {RegistryError} when the pages form a circle, or do not end
   */
  request(page: string): void {
    if (this.#asked.has(page)) throw new RegistryError(`the pages of the tags of ${this.#owner} lead round in a circle`)
    if (this.#asked.size >= maxPages) {
      throw new RegistryError(`the tags of ${this.#owner} come in more than ${maxPages} pages`)
    }
    this.#asked.add(page)
  }

  /**
   * Keeps each tag once: a tag that is pushed during the reading may be on two pages.
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
