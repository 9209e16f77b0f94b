/** Shared types of images: the catalogue, the images on nodes, and the service for both. */
import type { Identity, LabOptions, ResolvedImage } from '../../base/domain.ts'

/** Values of `image_type` (SQR-066, "Labs for bot users"). */
export const imageTypes = ['recommended', 'latest-weekly', 'latest-daily', 'latest-release'] as const
export type ImageType = (typeof imageTypes)[number]

/** An image of the configured repository. */
export interface CatalogueImage {
  /** Registry, repository and tag. */
  readonly reference: string
  readonly tag: string
  /** Other tags of the same digest, as far as digests are known. */
  readonly aliases: readonly string[]
  /** The display name. */
  readonly name: string
  /** `sha256:…`, or null if unknown. */
  readonly digest: string | null
  readonly sizeBytes?: number
}

/** The configured images of the registry, as a replica last read it. */
export interface Catalogue {
  /** Types without an image are missing. */
  readonly types: Readonly<Partial<Record<ImageType, CatalogueImage>>>
  /** Images to prepull, the recommended one first, in the order of the form. */
  readonly prepull: readonly CatalogueImage[]
  /** Images of the menu, in its order. */
  readonly menu: readonly CatalogueImage[]
  /** Every image that a user may request, in the order of SQR-059. */
  readonly all: readonly CatalogueImage[]
  /** When the registry was read, in milliseconds of Unix time. */
  readonly readAtMs: number
}

/** An image that is being prepulled to all eligible nodes. */
export interface PrepullState {
  readonly image: CatalogueImage
  /** Nodes that have it, sorted. */
  readonly nodes: readonly string[]
  /** Nodes that should have it, and do not; empty when it is prepulled. */
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
  /** Images on every eligible node. */
  readonly prepulled: readonly PrepullState[]
  readonly pending: readonly PrepullState[]
  readonly nodes: readonly NodeState[]
}

/** Answers about images, at any replica. */
export interface ImageService {
  /** @throws {ApiError} 503 if the registry was never read, or Redis does not answer */
  catalogue(): Promise<Catalogue>
  /** @throws {ApiError} as `catalogue` */
  prepulls(): Promise<PrepullStatus>
  /**
   * The image that options request, with its current digest.
   * @throws {ApiError} 422 for an image that does not exist; 403 for one that is restricted for this user
   */
  resolve(options: LabOptions, caller: Pick<Identity, 'groups'>): Promise<ResolvedImage>
}
