/** For tests: images and catalogues made by hand, and a repository with the tags that a test sets. */
import { unlessAborted } from '../../../src/base/deadline.ts'
import type { Catalogue, CatalogueImage } from '../../../src/images/catalogue/types.ts'
import type { ImageSource, ListedTag, Manifest } from '../../../src/images/registry/source.ts'

export const digestA = `sha256:${'a'.repeat(64)}`
export const digestB = `sha256:${'b'.repeat(64)}`

/** An image of the repository `some/lab`, named as its tag. */
export function imageOf(tag: string, more: Partial<CatalogueImage> = {}): CatalogueImage {
  return { reference: `example.org/some/lab:${tag}`, tag, aliases: [], name: `Image ${tag}`, digest: null, ...more }
}

export function catalogueOf(more: Partial<Catalogue>): Catalogue {
  return { types: {}, prepull: [], menu: [], all: [], readAtMs: 0, ...more }
}

/** A repository of tags and their digests, which a test changes at will. */
export class FakeSource implements ImageSource {
  /** By tag. */
  readonly digests = new Map<string, string>()
  /** An error that replaces answers. */
  failure: Error | undefined
  /** Whether lists contain digests, as with Artifact Registry. */
  listsDigests = false
  /** Requests in order: `tags`, or a tag or digest. */
  readonly asked: string[] = []
  /** Number of concurrent requests now, and the most so far. */
  inFlight = 0
  mostInFlight = 0
  closed = false
  /** If set, answers wait for it. */
  gate: Promise<void> | undefined

  constructor(digests: Readonly<Record<string, string>> = {}) {
    for (const [tag, digest] of Object.entries(digests)) this.digests.set(tag, digest)
  }

  async listTags(signal?: AbortSignal): Promise<readonly ListedTag[]> {
    await this.#ask('tags', signal)
    return [...this.digests].map(([tag, digest]) => (this.listsDigests ? { tag, digest } : { tag }))
  }

  async manifestOf(reference: string, signal?: AbortSignal): Promise<Manifest | null> {
    await this.#ask(reference, signal)
    const digest = this.digests.get(reference) ?? [...this.digests.values()].find(known => known === reference)
    return digest === undefined ? null : { digest }
  }

  async close(): Promise<void> {
    this.closed = true
  }

  async #ask(what: string, signal: AbortSignal | undefined): Promise<void> {
    this.asked.push(what)
    this.inFlight += 1
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight)
    try {
      await unlessAborted(this.gate ?? new Promise(resolve => setImmediate(resolve)), signal)
      if (this.failure) throw this.failure
    } finally {
      this.inFlight -= 1
    }
  }
}
