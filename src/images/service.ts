/** The image service of every replica: the catalogue, the images on nodes, and the image for a request. */

import type { Group, Identity, LabOptions, ResolvedImage } from '../base/domain.ts'
import { ApiError, RetryLater, unavailable } from '../base/errors.ts'
import { qualifiedRepositoryOf, repositoryOf } from '../config/images.ts'
import type { Config } from '../config/schema.ts'
import { displayNameOf } from './catalogue/compose.ts'
import type { Digests } from './catalogue/digests.ts'
import { imageByTag, tagsOfDigest } from './catalogue/find.ts'
import type { ImageName, ImageRequest } from './catalogue/reference.ts'
import { refused, requestedImage } from './catalogue/reference.ts'
import { permittedTags } from './catalogue/restrictions.ts'
import type { Catalogues } from './catalogue/stored.ts'
import { parseTag } from './catalogue/tags.ts'
import type { Catalogue, ImageService, ImageType, PrepullStatus } from './catalogue/types.ts'

export interface ImagesParts {
  readonly images: Config['images']
  readonly catalogues: Catalogues
  readonly digests: Pick<Digests, 'look'>
  /** The state of a catalogue's images on nodes. */
  readonly prepulls: (catalogue: Catalogue) => Promise<PrepullStatus>
  /** Why the registry could not be read, for clients; undefined if unknown. */
  readonly trouble?: () => string | undefined
}

/** Seconds after which the registry may have been read for the first time. */
const retryAfterSeconds = 5

export class Images implements ImageService {
  readonly #parts: ImagesParts

  constructor(parts: ImagesParts) {
    this.#parts = parts
  }

  async catalogue(): Promise<Catalogue> {
    const catalogue = await this.#read()
    if (catalogue === null) {
      const why = this.#parts.trouble?.()
      throw unavailable(`the registry was not read yet${why ? `: ${why}` : ''}`, retryAfterSeconds)
    }
    return catalogue
  }

  async prepulls(): Promise<PrepullStatus> {
    return this.#parts.prepulls(await this.catalogue())
  }

  async resolve(options: LabOptions, { groups }: Pick<Identity, 'groups'>): Promise<ResolvedImage> {
    const name = await this.#nameOf(requestedImage(this.#parts.images, options))
    await this.#check(name, groups)
    const found = await this.#parts.digests.look(name.digest ?? name.tag!)
    if (found === 'missing') throw this.#missing(name)
    return this.#resolved(name, name.digest ?? found)
  }

  /** An image requested by type has the catalogue's tag for it. */
  async #nameOf(request: ImageRequest): Promise<ImageName> {
    if (!('type' in request)) return request
    return { tag: await this.#tagOf(request.type), option: request.option }
  }

  /** Users and bots rely on the recommended image, and its tag is known without a catalogue. */
  async #tagOf(type: ImageType): Promise<string> {
    const { images } = this.#parts
    if (type === 'recommended') return (await this.#recent())?.types.recommended?.tag ?? images.recommendedTag
    // A refusal is by the newest catalogue.
    const image = (await this.#recent())?.types[type] ?? (await this.catalogue()).types[type]
    if (image === undefined) throw refused('image_type', `${repositoryOf(images)} has no image of the type ${type}`)
    return image.tag
  }

  /**
   * An image that the form would not offer cannot be requested by name either: neither images of another cycle, nor
   * restricted ones, also not by digest.
   */
  async #check(name: ImageName, groups: readonly Group[]): Promise<void> {
    const { images } = this.#parts
    const permitted = permittedTags(images.restrictions, groups)
    if (name.tag !== undefined && permitted && !permitted(name.tag)) throw kept(name)
    if (images.cycle === null && !permitted) return
    if (name.tag !== undefined && !(await this.#isOfCycle(name.tag))) {
      throw refused(name.option, `The image is not one of cycle ${images.cycle}`)
    }
    if (name.digest !== undefined) await this.#checkDigest(name, name.digest, permitted)
  }

  /** A digest is judged by the tag that it belongs to now, or by the catalogue's tags for it. */
  async #checkDigest(name: ImageName, digest: string, permitted?: (tag: string) => boolean): Promise<void> {
    if (name.tag !== undefined && (await this.#parts.digests.look(name.tag)) === digest) return
    const catalogue = await this.#read()
    const tags = catalogue ? tagsOfDigest(catalogue, digest) : []
    for (const tag of tags) if ((permitted?.(tag) ?? true) && (await this.#isOfCycle(tag))) return
    throw refused(name.option, 'Without a tag that has this digest now, it is not known whether you may have the image')
  }

  async #isOfCycle(tag: string): Promise<boolean> {
    const { cycle, recommendedTag } = this.#parts.images
    if (cycle === null || tag === recommendedTag || parseTag(tag).cycle === cycle) return true
    const has = (catalogue: Catalogue | null) => catalogue !== null && imageByTag(catalogue, tag) !== undefined
    return has(await this.#recent()) || has(await this.#read())
  }

  #missing({ tag, digest, option }: ImageName): ApiError {
    return refused(option, `There is no image ${tag ?? digest} in ${repositoryOf(this.#parts.images)}`)
  }

  #resolved({ tag = '' }: ImageName, digest: string | null): ResolvedImage {
    const { images } = this.#parts
    const reference = `${qualifiedRepositoryOf(images)}${tag && `:${tag}`}${digest ? `@${digest}` : ''}`
    return { reference, tag, digest, description: tag ? this.#describe(tag) : `Image ${digest}` }
  }

  /** The catalogue knows the image of an alias. */
  #describe(tag: string): string {
    const { images, catalogues } = this.#parts
    const image = catalogues.known && imageByTag(catalogues.known, tag)
    return image?.tag === tag ? image.name : displayNameOf(images, tag)
  }

  #read(): Promise<Catalogue | null> {
    return this.#available(() => this.#parts.catalogues.read())
  }

  #recent(): Promise<Catalogue | null> {
    return this.#available(() => this.#parts.catalogues.recent())
  }

  async #available<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (error instanceof RetryLater) throw unavailable(error.message)
      throw error
    }
  }
}

function kept({ tag, option }: ImageName): ApiError {
  const loc = ['body', 'options', option]
  return new ApiError(403, { msg: `The image ${tag} is kept from you: it is for other groups`, type: 'forbidden', loc })
}

/** The status without prepulling: every image is missing, and no nodes are known. */
export async function nothingPrepulled(catalogue: Catalogue): Promise<PrepullStatus> {
  return { prepulled: [], pending: catalogue.prepull.map(image => ({ image, nodes: [], missing: [] })), nodes: [] }
}
