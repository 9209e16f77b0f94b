/** A catalogue as text, by which replicas hand it to each other, and what it depends on. Pure. */
import { createHash } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import type { Catalogue, CatalogueImage } from './types.ts'
import { imageTypes } from './types.ts'

/** To be raised with every change of the text, so that replicas of two versions do not read each other's. */
const format = 1

/**
 * What a catalogue depends on, in a few letters and digits: replicas whose configuration makes another one of the same
 * tags must not share it. How the registry is asked, and who may have what, makes no other.
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

/** What a reference of a tag begins with is said once; of tens of thousands of tags it is most of them. */
interface Text {
  readonly readAtMs: number
  /** Of all references, up to the tag. */
  readonly name: string
  /** tag, name for people, digest, size, aliases */
  readonly images: readonly (readonly [string, string, string | null, number | null, ...string[]])[]
  /** Places in `images`. */
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

/** Of what `encodeCatalogue` made; images that stand in several lists are the same there. */
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

/** All are of the one repository. */
function nameOf({ reference, tag }: CatalogueImage): string {
  return reference.slice(0, reference.length - tag.length - 1)
}
