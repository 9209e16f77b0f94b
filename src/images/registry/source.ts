/** Where images come from, as the catalogue and the resolver see it: a registry, or Google Artifact Registry. */

/** A tag of the configured repository, as its registry lists it. */
export interface ListedTag {
  readonly tag: string
  /** `sha256:…` where listing tells it: Artifact Registry does, Docker's protocol does not. */
  readonly digest?: string
  /** Compressed, in bytes, where listing tells it. */
  readonly sizeBytes?: number
}

/** What a digest's manifest is, and how large. */
export interface Manifest {
  readonly digest: string
  /** Compressed, in bytes, of config and layers; undefined for an index, and where the registry does not tell. */
  readonly sizeBytes?: number
}

/** The one repository that labs are made of. */
export interface ImageSource {
  /**
   * Every tag, each once, in no order.
   * @throws {Error} when the registry does not tell: out of reach, too slow, refusing, garbage, or more than `maxTags`
   */
  listTags(signal?: AbortSignal): Promise<readonly ListedTag[]>
  /**
   * What a tag or a digest names.
   * @returns null when the registry says that there is none
   * @throws {Error} when it does not say
   */
  manifestOf(reference: string, signal?: AbortSignal): Promise<Manifest | null>
  /** Ends connections; for the end of the process. */
  close(): Promise<void>
}
