/** What the rooms say to each other about images: the catalogue, what is on nodes, and who answers for both. */
import type { Identity, LabOptions, ResolvedImage } from '../../base/domain.ts'

/** What `image_type` may say (SQR-066, "Labs for bot users"). */
export const imageTypes = ['recommended', 'latest-weekly', 'latest-daily', 'latest-release'] as const
export type ImageType = (typeof imageTypes)[number]

/** An image of the configured repository. */
export interface CatalogueImage {
  /** Registry, repository and tag. */
  readonly reference: string
  readonly tag: string
  /** Other tags of the same digest, as far as digests are known. */
  readonly aliases: readonly string[]
  /** For people. */
  readonly name: string
  /** `sha256:…`, null when it is not known. */
  readonly digest: string | null
  readonly sizeBytes?: number
}

/** What the registry had when one of the replicas last read it, with the configuration applied. */
export interface Catalogue {
  /** Types that nothing matches are missing. */
  readonly types: Readonly<Partial<Record<ImageType, CatalogueImage>>>
  /** To be prepulled, the recommended one first, in the order of the form. */
  readonly prepull: readonly CatalogueImage[]
  /** What the menu offers, in its order. */
  readonly menu: readonly CatalogueImage[]
  /** Every image that may be asked for, in the order of SQR-059. */
  readonly all: readonly CatalogueImage[]
  /** When the registry was read, in milliseconds of Unix time. */
  readonly readAtMs: number
}

/** An image on its way to all nodes that should have it. */
export interface PrepullState {
  readonly image: CatalogueImage
  /** Nodes that have it, sorted. */
  readonly nodes: readonly string[]
  /** Nodes that should, and do not; empty when it is prepulled. */
  readonly missing: readonly string[]
  /** Why the last attempt failed. */
  readonly error?: string
}

/** A node as prepulling sees it. */
export interface NodeState {
  readonly name: string
  readonly eligible: boolean
  /** Why it is not eligible. */
  readonly comment?: string
  /** References of images of the configured repository that it has. */
  readonly cached: readonly string[]
}

export interface PrepullStatus {
  /** On every eligible node. */
  readonly prepulled: readonly PrepullState[]
  readonly pending: readonly PrepullState[]
  readonly nodes: readonly NodeState[]
}

/** Answers for images, at any replica. */
export interface ImageService {
  /** @throws {ApiError} 503 while no registry was ever read, or Redis does not answer */
  catalogue(): Promise<Catalogue>
  /** @throws {ApiError} as `catalogue` */
  prepulls(): Promise<PrepullStatus>
  /**
   * The image that options ask for, with its digest at this moment.
   * @throws {ApiError} 422 when they name none that there is; 403 when it is kept from this user
   */
  resolve(options: LabOptions, caller: Pick<Identity, 'groups'>): Promise<ResolvedImage>
}
