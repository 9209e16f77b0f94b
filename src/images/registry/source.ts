/** The source of images for the catalogue and the resolver: a registry, or Google Artifact Registry. */

/** A tag of the configured repository, as its registry lists it. */
export interface ListedTag {
  readonly tag: string
  /** `sha256:…` if the list contains it, as with Artifact Registry, not with Docker's protocol. */
  readonly digest?: string
  /** Compressed, in bytes, if the list contains it. */
  readonly sizeBytes?: number
}

/** A digest, and the size of its image. */
export interface Manifest {
  readonly digest: string
  /** Compressed, in bytes, of config and layers; undefined for an index, and if the registry does not return it. */
  readonly sizeBytes?: number
}

/** The repository of labs' images. */
export interface ImageSource {
  /**
   * All tags, each once, in no order.
   * @throws {Error} when the registry is unreachable, too slow, refuses, sends garbage, or has more than `maxTags`
   */
  listTags(signal?: AbortSignal): Promise<readonly ListedTag[]>
  /**
   * The manifest of a tag or a digest.
   * @returns null when the registry reports that there is none
   * @throws {Error} when the registry does not answer
   */
  manifestOf(reference: string, signal?: AbortSignal): Promise<Manifest | null>
  /** Closes connections, at the end of the process. */
  close(): Promise<void>
}
