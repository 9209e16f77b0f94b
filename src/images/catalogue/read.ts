/** From a registry to a catalogue: its tags, and the digests of those that matter. */
import type { Clock } from '../../base/clock.ts'
import { Deadline, unlessAborted } from '../../base/deadline.ts'
import { Slots } from '../../base/slots.ts'
import type { Config } from '../../config/schema.ts'
import type { ImageSource, ListedTag, Manifest } from '../registry/source.ts'
import { buildCatalogue, digestsWanted, missingTags } from './compose.ts'
import type { Catalogue } from './types.ts'

/** Manifests asked for at once. */
const breadth = 8

export interface ReadParts {
  readonly images: Config['images']
  readonly source: ImageSource
  /** By its wall time ages of the menu are counted. */
  readonly clock: Clock
  /** Digests as they were known before, by tag: they stand in where the registry is asked for one, and does not tell. */
  readonly known?: ReadonlyMap<string, string>
  readonly signal?: AbortSignal
}

export interface CatalogueRead {
  readonly catalogue: Catalogue
  /** Every tag that the registry has, with its digest as far as it is known now. */
  readonly digests: ReadonlyMap<string, string | null>
  /** The recommended tag and pins, as far as the registry lacks them: a slip of the configuration, or of who pushes. */
  readonly missing: readonly string[]
  /** Why the first digest was not told that was asked for; undefined where all were. */
  readonly trouble?: Error
}

/**
 * Reads the registry once, within `images.readingTimeoutSeconds`.
 * @throws {Error} when it does not list its tags, tells none of the digests that are asked for, or not all in time
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
  const { told, failures } = await manifestsOf(source, wanted, signal)
  const [trouble] = failures.values()
  if (trouble && failures.size === wanted.length) throw trouble
  const tags = listed.flatMap((entry): ListedTag[] => {
    const manifest = told.get(entry.tag)
    // Gone since it was listed.
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
  const told = new Map<string, Manifest | null>()
  const failures = new Map<string, Error>()
  await Promise.all(
    tags.map(async tag => {
      await slots.enter(1, signal)
      try {
        told.set(tag, await source.manifestOf(tag, signal))
      } catch (error) {
        signal?.throwIfAborted()
        failures.set(tag, error as Error)
      } finally {
        slots.leave()
      }
    }),
  )
  return { told, failures }
}
