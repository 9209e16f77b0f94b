/** Reads a catalogue from a registry: its tags, and the digests of those that matter. */
import type { Clock } from '../../base/clock.ts'
import { Deadline, unlessAborted } from '../../base/deadline.ts'
import { Slots } from '../../base/slots.ts'
import type { Config } from '../../config/schema.ts'
import type { ImageSource, ListedTag, Manifest } from '../registry/source.ts'
import { buildCatalogue, digestsWanted, missingTags } from './compose.ts'
import type { Catalogue } from './types.ts'

/** Concurrent requests for manifests. */
const breadth = 8

export interface ReadParts {
  readonly images: Config['images']
  readonly source: ImageSource
  /** Its wall time determines ages for the menu. */
  readonly clock: Clock
  /** Known digests by tag, used when the registry does not return one. */
  readonly known?: ReadonlyMap<string, string>
  readonly signal?: AbortSignal
}

export interface CatalogueRead {
  readonly catalogue: Catalogue
  /** All tags of the registry, with their digests as far as they are known. */
  readonly digests: ReadonlyMap<string, string | null>
  /** The recommended tag and pins that the registry lacks: an error in the configuration, or in publishing. */
  readonly missing: readonly string[]
  /** Why the first requested digest was not returned; undefined if all were. */
  readonly trouble?: Error
}

/**
 * Reads the registry once, within `images.readingTimeoutSeconds`.
 * @throws {Error} when the registry does not list its tags, returns none of the digests, or takes too long
 */
export async function readCatalogue(parts: ReadParts): Promise<CatalogueRead> {
  const { readingTimeoutSeconds } = parts.images
  const deadline = new Deadline(parts.clock, readingTimeoutSeconds * 1000, parts.signal)
  const { signal } = deadline
  try {
    return await unlessAborted(read({ ...parts, signal }), signal)
  } catch (error) {
    if (!signal.aborted || parts.signal?.aborted) throw error
    const late = `it was not read to the end within ${readingTimeoutSeconds} s (images.readingTimeoutSeconds)`
    throw new Error(late, { cause: error })
  } finally {
    deadline.release()
  }
}

async function read({ images, source, clock, known, signal }: ReadParts): Promise<CatalogueRead> {
  const listed = await source.listTags(signal)
  const wanted = digestsWanted(images, listed)
  const { manifests, failures } = await manifestsOf(source, wanted, signal)
  const [trouble] = failures.values()
  if (trouble && failures.size === wanted.length) throw trouble
  const tags = listed.flatMap((entry): ListedTag[] => {
    const manifest = manifests.get(entry.tag)
    // Deleted since it was listed.
    if (manifest === null) return []
    const before = failures.has(entry.tag) ? known?.get(entry.tag) : undefined
    const digest = manifest?.digest ?? entry.digest ?? before
    const sizeBytes = manifest?.sizeBytes ?? entry.sizeBytes
    return [{ tag: entry.tag, ...(digest && { digest }), ...(sizeBytes !== undefined && { sizeBytes }) }]
  })
  return {
    catalogue: buildCatalogue(images, tags, clock.wallMs()),
    missing: missingTags(images, tags),
    digests: new Map(tags.map(({ tag, digest }) => [tag, digest ?? null])),
    ...(trouble && { trouble }),
  }
}

async function manifestsOf(source: ImageSource, tags: readonly string[], signal: AbortSignal | undefined) {
  const slots = new Slots(breadth)
  const manifests = new Map<string, Manifest | null>()
  const failures = new Map<string, Error>()
  await Promise.all(
    tags.map(async tag => {
      await slots.enter(1, signal)
      try {
        manifests.set(tag, await source.manifestOf(tag, signal))
      } catch (error) {
        signal?.throwIfAborted()
        failures.set(tag, error as Error)
      } finally {
        slots.leave()
      }
    }),
  )
  return { manifests, failures }
}
