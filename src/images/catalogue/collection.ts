/** Relates the tags of a repository: finds those of one image, and those of a part of the repository. Pure. */
import type { ListedTag } from '../registry/source.ts'
import type { ImageTag, TagType } from './tags.ts'
import { compareTags, readTag, resolveAlias } from './tags.ts'

/** A tag and the known data of its image. */
export interface TaggedImage extends ImageTag {
  /** `sha256:…`, or null if unknown. */
  readonly digest: string | null
  /** Compressed, in bytes. */
  readonly sizeBytes?: number
  /** For an alias, the tag that describes the image; null if unknown. */
  readonly aliasTarget: string | null
  /** Further tags of the same digest, sorted; only the first few if there are very many. */
  readonly aliases: readonly string[]
}

/**
 * Number of tags listed per digest. Without a limit, 20,000 tags of one digest would name each other 400 million times.
 */
const maxAliases = 16

/**
 * Tags in the order of SQR-059, each with the others of its digest. `aliasTags` are aliases, whatever they look like. A
 * tag that follows no convention becomes an alias if its digest has a tag that does. An alias refers to the first such
 * tag.
 */
export function resolveImages(listed: readonly ListedTag[], aliasTags: ReadonlySet<string>): TaggedImage[] {
  return relate(listed.map(entry => unresolved(entry, aliasTags)))
}

/** Relates images again, also if some were related before: a new tag may describe a digest better. */
export function relate(images: readonly TaggedImage[]): TaggedImage[] {
  const groups = Map.groupBy(images.toSorted(compareTags), ({ digest }) => digest)
  return [...groups].flatMap(([digest, group]) => (digest === null ? group : resolveGroup(group))).sort(compareTags)
}

function unresolved({ tag, digest, sizeBytes }: ListedTag, aliasTags: ReadonlySet<string>): TaggedImage {
  return {
    ...readTag(tag, aliasTags),
    digest: digest ?? null,
    ...(sizeBytes !== undefined && { sizeBytes }),
    aliasTarget: null,
    aliases: [],
  }
}

/** Tags of one digest, in order. */
function resolveGroup(group: readonly TaggedImage[]): readonly TaggedImage[] {
  if (group.length === 1) return group
  const target = group.find(image => !isName(image))
  const foremost = group.slice(0, maxAliases + 2).map(({ tag }) => tag)
  return group.map(image => {
    const meant = target !== undefined && isName(image) ? target : null
    const aliases = foremost.filter(tag => tag !== image.tag && tag !== meant?.tag).slice(0, maxAliases)
    const resolved = meant ? resolveAlias(image, meant) : image
    return { ...resolved, aliasTarget: meant?.tag ?? null, aliases: aliases.sort() }
  })
}

/** Whether a tag is only a name, and does not describe the image. */
function isName({ type }: ImageTag): boolean {
  return type === 'Alias' || type === 'Unknown'
}

/** Without images for one architecture: nodes choose theirs by the tag for all of them. */
export function withoutArchitectures<T extends ImageTag>(images: readonly T[]): T[] {
  return images.filter(({ architecture }) => architecture === null)
}

/** Without the given tags. `aliasTags` refer to images and are not images, whether or not their image is known. */
export function withoutTags<T extends ImageTag>(images: readonly T[], tags: readonly string[]): T[] {
  const unwanted = new Set(tags)
  return images.filter(({ tag }) => !unwanted.has(tag))
}

/** Without aliases of images in the list, which need no second entry. */
export function withoutResolvedAliases(images: readonly TaggedImage[]): TaggedImage[] {
  const tags = new Set(images.map(({ tag }) => tag))
  return images.filter(({ aliasTarget }) => aliasTarget === null || !tags.has(aliasTarget))
}

/** Each image once, by digest, or by tag if the digest is unknown: its first entry. */
export function distinct(images: readonly TaggedImage[]): TaggedImage[] {
  const seen = new Set<string>()
  return images.filter(({ digest, tag }) => {
    const identity = digest ?? tag
    if (seen.has(identity)) return false
    seen.add(identity)
    return true
  })
}

/** The latest images of each type, from images in order; a type without a number has none. */
export function latestOf<T extends ImageTag>(
  images: readonly T[],
  numbers: Readonly<Partial<Record<TagType, number>>>,
): T[] {
  const left = new Map<string, number>(Object.entries(numbers))
  return images.filter(({ type }) => {
    const places = left.get(type) ?? 0
    left.set(type, places - 1)
    return places > 0
  })
}
