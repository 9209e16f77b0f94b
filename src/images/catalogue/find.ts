/** Finds images of a catalogue by tag or digest. Pure. */
import type { Config } from '../../config/schema.ts'
import type { Catalogue, CatalogueImage } from './types.ts'

interface Index {
  readonly byTag: ReadonlyMap<string, CatalogueImage>
  readonly tagsByDigest: ReadonlyMap<string, readonly string[]>
}

/** One index per catalogue, made at its first use: a catalogue serves for minutes. */
const indexes = new WeakMap<Catalogue, Index>()

/** The image with this tag, or else with this alias; undefined if the catalogue has none. */
export function imageByTag(catalogue: Catalogue, tag: string): CatalogueImage | undefined {
  return indexOf(catalogue).byTag.get(tag)
}

/** Tags and aliases of a digest. */
export function tagsOfDigest(catalogue: Catalogue, digest: string): readonly string[] {
  return indexOf(catalogue).tagsByDigest.get(digest) ?? []
}

/** The digest of a tag or digest; null if it is unknown, undefined if the catalogue lacks the image. */
export function digestIn(catalogue: Catalogue, reference: string): string | null | undefined {
  return tagsOfDigest(catalogue, reference).length > 0 ? reference : imageByTag(catalogue, reference)?.digest
}

/** As `digestIn`, but a tag of `aliasTags` is null even if no list has it. */
export function knownDigest(
  catalogue: Catalogue,
  { aliasTags }: Pick<Config['images'], 'aliasTags'>,
  reference: string,
): string | null | undefined {
  const digest = digestIn(catalogue, reference)
  return digest === undefined && aliasTags.includes(reference) ? null : digest
}

/** Whether the registry was read recently, with at most one reading missed. */
export function isFresh(
  { readAtMs }: Catalogue,
  { refreshIntervalSeconds }: Pick<Config['images'], 'refreshIntervalSeconds'>,
  nowMs: number,
): boolean {
  return Math.abs(nowMs - readAtMs) < 2 * refreshIntervalSeconds * 1000
}

function indexOf(catalogue: Catalogue): Index {
  const known = indexes.get(catalogue) ?? makeIndex(catalogue)
  indexes.set(catalogue, known)
  return known
}

function makeIndex({ types, prepull, menu, all }: Catalogue): Index {
  const byTag = new Map<string, CatalogueImage>()
  const tagsByDigest = new Map<string, string[]>()
  const images = [...new Set([...all, ...menu, ...prepull, ...Object.values(types)])]
  for (const image of images) {
    if (!byTag.has(image.tag)) byTag.set(image.tag, image)
  }
  for (const image of images) {
    for (const alias of image.aliases) if (!byTag.has(alias)) byTag.set(alias, image)
    if (image.digest === null) continue
    tagsByDigest.set(image.digest, [...(tagsByDigest.get(image.digest) ?? []), image.tag, ...image.aliases])
  }
  return { byTag, tagsByDigest }
}
