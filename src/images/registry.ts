/** From a request's options to an image, resolved once: its digest is what the registry says at that moment. */
import type { Clock } from '../clock.ts'
import { repositoryOf } from '../config/images.ts'
import type { Config } from '../config/schema.ts'
import type { LabOptions, ResolvedImage } from '../domain.ts'
import { unlessAborted } from '../kube/deadline.ts'
import { displayNameOf } from './catalogue.ts'
import { ManifestClient } from './manifests.ts'
import type { ImageRequest } from './reference.ts'
import { refused, requestedImage } from './reference.ts'

export interface ImageResolverParts {
  readonly images: Config['images']
  readonly clock: Clock
  readonly log: { warn(fields: object, message: string): void }
}

/** What is known of a tag. */
interface Known {
  /** null when the registry never told. */
  readonly digest: string | null
  readonly atMs: number
}

/** How long an answer serves others too: creations come in bursts, and tags move seldom. A failure counts as one. */
const freshMs = 5000
/** How many tags are remembered; with a tag each in a few hundred bytes. */
const maxKnown = 500

/** Finds images in the configured repository. One of them serves a whole process. */
export class ImageResolver {
  readonly #parts: ImageResolverParts
  readonly #client: ManifestClient
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<Known | 'missing'>>()

  constructor(parts: ImageResolverParts) {
    const { images, clock } = parts
    this.#parts = parts
    this.#client = new ManifestClient({
      registry: images.registry,
      repository: repositoryOf(images),
      clock,
      timeoutMs: images.timeoutSeconds * 1000,
    })
  }

  /**
   * The image that options ask for. A registry that does not answer leaves the digest that this process saw last, or
   * none: it is for the kubelet, then, to find out.
   * @throws {ApiError} 422 when the options name no image that labs may be made of, or one that the registry does not have
   */
  async resolve(options: LabOptions, signal?: AbortSignal): Promise<ResolvedImage> {
    const request = requestedImage(this.#parts.images, options)
    const found = await this.#look(request.digest ?? request.tag!, signal)
    if (found === 'missing') {
      const repository = repositoryOf(this.#parts.images)
      throw refused(request.option, `There is no image ${request.tag ?? request.digest} in ${repository}`)
    }
    return this.#resolved(request, request.digest ?? found.digest)
  }

  #resolved({ tag }: ImageRequest, digest: string | null): ResolvedImage {
    const { images } = this.#parts
    const reference = `${images.registry}/${repositoryOf(images)}${tag ? `:${tag}` : ''}${digest ? `@${digest}` : ''}`
    return { reference, tag: tag ?? '', digest, description: tag ? displayNameOf(images, tag) : `Image ${digest}` }
  }

  /** All who ask for one image at the same time share one look, which none of them can end for the others. */
  #look(reference: string, signal: AbortSignal | undefined): Promise<Known | 'missing'> {
    const known = this.#known.get(reference)
    if (known && this.#parts.clock.monotonicMs() - known.atMs < freshMs) return Promise.resolve(known)
    const look = this.#asking.get(reference) ?? this.#ask(reference)
    return unlessAborted(look, signal)
  }

  #ask(reference: string): Promise<Known | 'missing'> {
    const asking = this.#askRegistry(reference).finally(() => this.#asking.delete(reference))
    this.#asking.set(reference, asking)
    return asking
  }

  async #askRegistry(reference: string): Promise<Known | 'missing'> {
    try {
      const digest = await this.#client.digestOf(reference)
      if (digest !== null) return this.#remember(reference, digest)
      this.#known.delete(reference)
      return 'missing'
    } catch (err) {
      this.#parts.log.warn({ err, image: reference }, 'the registry did not tell the digest of an image')
      return this.#remember(reference, this.#known.get(reference)?.digest ?? null)
    }
  }

  #remember(reference: string, digest: string | null): Known {
    const known = { digest, atMs: this.#parts.clock.monotonicMs() }
    this.#known.delete(reference)
    this.#known.set(reference, known)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value!)
    return known
  }
}
