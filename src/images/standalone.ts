/** The image service from the registry alone, without shared state: for commands that run once. */
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/schema.ts'
import { Digests } from './catalogue/digests.ts'
import { readCatalogue } from './catalogue/read.ts'
import type { Catalogue } from './catalogue/types.ts'
import type { ImageSource } from './registry/source.ts'
import { Images, nothingPrepulled } from './service.ts'

export interface StandaloneParts {
  readonly images: Config['images']
  readonly source: ImageSource
  readonly clock: Clock
  /** Logs failures of the registry. */
  readonly log: { warn(fields: object, message: string): void }
}

/** The service of a replica that has just started; reads the registry only if a request needs it. */
export function standaloneImages({ images, source, clock, log }: StandaloneParts): Images {
  let reading: Promise<Catalogue | null> | undefined
  const read = async () => {
    try {
      return (await readCatalogue({ images, source, clock })).catalogue
    } catch (err) {
      log.warn({ err }, 'the registry cannot be read')
      return null
    }
  }
  const readOnce = () => {
    reading ??= read()
    return reading
  }
  const catalogues = { known: null, read: readOnce, recent: readOnce }
  const memory = { digestOf: async () => null, remember: async () => {} }
  const timeoutMs = images.timeoutSeconds * 1000
  const digests = new Digests({
    source,
    memory,
    catalogued: () => null,
    isFresh: () => false,
    missingMs: 0,
    clock,
    timeoutMs,
    log,
  })
  return new Images({ images, catalogues, digests, prepulls: nothingPrepulled })
}
