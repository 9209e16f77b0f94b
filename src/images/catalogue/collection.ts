/** The tags of a repository together: which of them name one image, and which belong to a part of it. Pure. */
import type { ListedTag } from '../registry/source.ts'
import type { ImageTag, TagType } from './tags.ts'
import { compareTags, readTag, resolveAlias } from './tags.ts'

/** A tag with what is known of the image behind it. */
export interface TaggedImage extends ImageTag {
  /** `sha256:…`, null when it is not known. */
  readonly digest: string | null
  /** Compressed, in bytes. */
  readonly sizeBytes?: number
  /** Of an alias, the tag that says what the image is; null when that is not known. */
  readonly aliasTarget: string | null
  /** Further tags of the same digest, sorted; the first few where there are very many. */
  readonly aliases: readonly string[]
}

/** So many tags of one digest are told: were it all, 20,000 tags of one digest would name each other 400 million times. */
const maxAliases = 16

/**
 * Tags in the order of SQR-059, each with the others of its digest. `aliasTags` are aliases whatever they look like; a tag
 * of no convention becomes one where the digest has a tag that follows it. The foremost of those is what aliases stand for.
 */
export function resolveImages(listed: readonly ListedTag[], aliasTags: ReadonlySet<string>): TaggedImage[] {
  return relate(listed.map(entry => unresolved(entry, aliasTags)))
}

/** What belongs together, also where some of it did before: a further tag may say better what a digest is. */
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

/** Whether a tag is but a name, and does not say what the image is. */
function isName({ type }: ImageTag): boolean {
  return type === 'Alias' || type === 'Unknown'
}

/** Without images for one architecture: nodes find theirs by the tag that names all of them. */
export function withoutArchitectures<T extends ImageTag>(images: readonly T[]): T[] {
  return images.filter(({ architecture }) => architecture === null)
}

/** Without some tags: those of `aliasTags` name images, and are none, whether or not it is known which they name. */
export function withoutTags<T extends ImageTag>(images: readonly T[], tags: readonly string[]): T[] {
  const unwanted = new Set(tags)
  return images.filter(({ tag }) => !unwanted.has(tag))
}

/** Without aliases of images that are among them: those need no second place. */
export function withoutResolvedAliases(images: readonly TaggedImage[]): TaggedImage[] {
  const tags = new Set(images.map(({ tag }) => tag))
  return images.filter(({ aliasTarget }) => aliasTarget === null || !tags.has(aliasTarget))
}

/** Each image once, by its digest or, where that is not known, by its tag: the first that names it. */
export function distinct(images: readonly TaggedImage[]): TaggedImage[] {
  const seen = new Set<string>()
  return images.filter(({ digest, tag }) => {
    const identity = digest ?? tag
    if (seen.has(identity)) return false
    seen.add(identity)
    return true
  })
}

/** The latest so many of each type, of images in order; none of a type that has no number. */
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
