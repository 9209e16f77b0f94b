/** Composes a catalogue from the list of a registry: the configured part of it (SQR-066, "Prepulling"). Pure. */
import { qualifiedRepositoryOf } from '../../config/images.ts'
import type { Config } from '../../config/schema.ts'
import type { ListedTag } from '../registry/source.ts'
import type { TaggedImage } from './collection.ts'
import {
  distinct,
  latestOf,
  resolveImages,
  withoutArchitectures,
  withoutResolvedAliases,
  withoutTags,
} from './collection.ts'
import { offered } from './menu.ts'
import { readTag } from './tags.ts'
import type { Catalogue, CatalogueImage, ImageType } from './types.ts'

type Images = Config['images']

/** Each digest costs a request in every refresh. */
const maxDigestsWanted = 20

/**
 * The tags whose digests the catalogue needs, and the list lacks: first those of images with a type of their own, then
 * those to prepull, then aliases. At most 20.
 */
export function digestsWanted(images: Images, listed: readonly ListedTag[]): string[] {
  const untold = new Set(listed.filter(({ digest }) => digest === undefined).map(({ tag }) => tag))
  const known = knownImages(images, listed)
  const types = typesOf(images, known)
  const chosen = [...Object.values(types), ...prepullOf(images, known, types.recommended)]
  // An alias that seems to be of another cycle may refer to an image of this one.
  const wanted = new Set([images.recommendedTag, ...chosen.map(({ tag }) => tag), ...images.aliasTags])
  return [...wanted].filter(tag => untold.has(tag)).slice(0, maxDigestsWanted)
}

/** The configured part of a registry's list, read at a time in milliseconds of Unix time. */
export function buildCatalogue(images: Images, listed: readonly ListedTag[], nowMs: number): Catalogue {
  const known = knownImages(images, listed)
  const types = typesOf(images, known)
  const toImage = converter(images)
  const shown = (tagged: readonly TaggedImage[]) =>
    withoutResolvedAliases(withoutTags(tagged, images.aliasTags)).map(toImage)
  const typed = Object.entries(types).map(([type, image]) => [type, toImage(image)] as const)
  return {
    types: Object.fromEntries(typed),
    prepull: prepullOf(images, known, types.recommended).map(toImage),
    menu: shown(offered(withoutArchitectures(known), images.menu, nowMs)),
    all: shown(known),
    readAtMs: nowMs,
  }
}

/** Tags by which the configuration names images (the recommended one and pins), and which the registry lacks. */
export function missingTags({ recommendedTag, pins }: Images, listed: readonly ListedTag[]): string[] {
  const there = new Set(listed.map(({ tag }) => tag))
  return [...new Set([recommendedTag, ...pins])].filter(tag => !there.has(tag))
}

/** The display name of the image with this tag, as far as the tag shows it. */
export function displayNameOf(images: Pick<Images, 'recommendedTag' | 'aliasTags'>, tag: string): string {
  return readTag(tag, aliasTagsOf(images)).displayName
}

function aliasTagsOf({ recommendedTag, aliasTags }: Pick<Images, 'recommendedTag' | 'aliasTags'>): Set<string> {
  return new Set([recommendedTag, ...aliasTags])
}

/** All images of the configured cycle, in order. An alias has the cycle of its image. */
function knownImages(images: Images, listed: readonly ListedTag[]): TaggedImage[] {
  const resolved = resolveImages(listed, aliasTagsOf(images))
  return images.cycle === null ? resolved : resolved.filter(({ cycle }) => cycle === images.cycle)
}

function typesOf({ recommendedTag }: Images, known: readonly TaggedImage[]) {
  const [release, weekly, daily] = (['Release', 'Weekly', 'Daily'] as const).map(kind =>
    known.find(({ type, architecture }) => type === kind && architecture === null),
  )
  const recommended = known.find(({ tag }) => tag === recommendedTag) ?? release ?? weekly ?? daily
  const types: Partial<Record<ImageType, TaggedImage>> = {
    ...(recommended && { recommended }),
    ...(weekly && { 'latest-weekly': weekly }),
    ...(daily && { 'latest-daily': daily }),
    ...(release && { 'latest-release': release }),
  }
  return types
}

/** The recommended image, then pins and the latest of each kind, in the order of all lists. */
function prepullOf(images: Images, known: readonly TaggedImage[], recommended: TaggedImage | undefined): TaggedImage[] {
  const { numReleases, numWeeklies, numDailies, pins } = images
  const numbers = { Release: numReleases, Weekly: numWeeklies, Daily: numDailies }
  const latest = latestOf(withoutArchitectures(known), numbers)
  const chosen = new Set([...pins, ...latest.map(({ tag }) => tag)])
  const others = known.filter(({ tag }) => chosen.has(tag))
  return distinct(recommended ? [recommended, ...others] : others)
}

/** Converts each image once, however many lists contain it. */
function converter(images: Images): (image: TaggedImage) => CatalogueImage {
  const repository = qualifiedRepositoryOf(images)
  const converted = new Map<string, CatalogueImage>()
  return image => {
    const found = converted.get(image.tag) ?? catalogueImage(repository, image)
    converted.set(image.tag, found)
    return found
  }
}

function catalogueImage(repository: string, image: TaggedImage): CatalogueImage {
  const { tag, displayName, digest, sizeBytes, aliasTarget, aliases } = image
  return {
    reference: `${repository}:${tag}`,
    tag,
    aliases: aliasTarget === null ? aliases : [aliasTarget, ...aliases].sort(),
    name: displayName,
    digest,
    ...(sizeBytes !== undefined && { sizeBytes }),
  }
}
