/** Encodes a catalogue as text, which replicas share, and its scope. Pure. */
import { createHash } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import type { Catalogue, CatalogueImage } from './types.ts'
import { imageTypes } from './types.ts'

/** To be raised with every change of the text, so that replicas of two versions do not read each other's. */
const format = 1

/**
 * A digest of the settings that determine a catalogue: replicas that would make another one of the same tags must not
 * share it. Settings of access to the registry, and restrictions of users, do not matter.
 */
export function catalogueScope(images: Config['images']): string {
  const {
    timeoutSeconds: _timeout,
    readingTimeoutSeconds: _readingTimeout,
    refreshIntervalSeconds: _interval,
    maxTags: _max,
    plainHttp: _plain,
    tokenHosts: _tokenHosts,
    caFile: _ca,
    credentialsFile: _credentials,
    restrictions: _restrictions,
    prepull: _prepull,
    ...rest
  } = images
  return createHash('sha256')
    .update(JSON.stringify([format, rest]))
    .digest('hex')
    .slice(0, 16)
}

/** The common beginning of references is stored once; with tens of thousands of tags it would be most of the text. */
interface Text {
  readonly readAtMs: number
  /** The beginning of all references, up to the tag. */
  readonly name: string
  /** tag, display name, digest, size, aliases */
  readonly images: readonly (readonly [string, string, string | null, number | null, ...string[]])[]
  /** Indexes in `images`. */
  readonly types: Readonly<Record<string, number>>
  readonly prepull: readonly number[]
  readonly menu: readonly number[]
  readonly all: readonly number[]
}

/** The catalogue as text, each image once. */
export function encodeCatalogue({ types, prepull, menu, all, readAtMs }: Catalogue): string {
  const places = new Map<CatalogueImage, number>()
  const place = (image: CatalogueImage) => {
    const known = places.get(image) ?? places.size
    places.set(image, known)
    return known
  }
  const lists = { all: all.map(place), menu: menu.map(place), prepull: prepull.map(place) }
  const known = imageTypes.flatMap(type => (types[type] ? [[type, place(types[type])] as const] : []))
  const [first] = places.keys()
  const text: Text = {
    readAtMs,
    name: first ? nameOf(first) : '',
    images: [...places.keys()].map(({ tag, name, digest, sizeBytes, aliases }) => {
      return [tag, name, digest, sizeBytes ?? null, ...aliases] as const
    }),
    types: Object.fromEntries(known),
    ...lists,
  }
  return JSON.stringify(text)
}

/** Reads a text of `encodeCatalogue`; an image in several lists becomes one object. */
export function decodeCatalogue(text: string): Catalogue {
  const { readAtMs, name, images, types, prepull, menu, all } = JSON.parse(text) as Text
  const made = images.map(([tag, title, digest, size, ...aliases]): CatalogueImage => {
    const reference = `${name}:${tag}`
    return { reference, tag, aliases, name: title, digest, ...(size !== null && { sizeBytes: size }) }
  })
  const at = (place: number) => made[place]!
  return {
    types: Object.fromEntries(Object.entries(types).map(([type, place]) => [type, at(place)])),
    prepull: prepull.map(at),
    menu: menu.map(at),
    all: all.map(at),
    readAtMs,
  }
}

/** All images are of one repository. */
function nameOf({ reference, tag }: CatalogueImage): string {
  return reference.slice(0, reference.length - tag.length - 1)
}
