/**
 * Keeps the catalogue fresh: one replica at a time reads the registry, and the others check that it did. No replica is
 * elected: one that finds a reading due takes the lease for the reading.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Rest } from '../../base/loop.ts'
import type { Config } from '../../config/schema.ts'
import { Duty, type Take } from '../../duties/duty.ts'
import type { Leases } from '../../leases/leases.ts'
import type { CatalogueLook, ImageStore } from '../../store/images.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { registryWords } from '../registry/http.ts'
import type { ImageSource } from '../registry/source.ts'
import { type CatalogueRead, readCatalogue } from './read.ts'
import type { StoredCatalogues } from './stored.ts'
import { encodeCatalogue } from './text.ts'
import type { Catalogue } from './types.ts'

export interface RefresherParts {
  readonly images: Config['images']
  readonly source: ImageSource
  readonly store: Pick<ImageStore, 'lease' | 'end' | 'remembered'>
  readonly catalogues: StoredCatalogues
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly clock: Clock
  readonly log: {
    debug(fields: object, message: string): void
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
  readonly metrics: Pick<Metrics, 'catalogueRefreshDuration'>
  readonly failpoint: (place: string) => void | Promise<void>
}

export interface RegistryTrouble {
  /** For clients. */
  readonly words: string
  /** For operators. */
  readonly message: string
}

/** Retry interval while there is no catalogue, or Redis does not answer. */
const soonMs = 10_000
/** Pause before the next look while another replica reads: it may have died. */
const lookAgainMs = 2000

export class Refresher {
  readonly #parts: RefresherParts
  readonly #duty: Duty
  readonly #failures: Rarely
  #trouble: RegistryTrouble | undefined
  /** The version at the first failure to read the registry; undefined while readings succeed. */
  #failingSince: { readonly version: string | undefined } | undefined

  /** Tags that were missing at the last reading. */
  #missing: readonly string[] = []

  constructor(parts: RefresherParts) {
    const { clock, log, leases, store } = parts
    this.#parts = parts
    this.#duty = new Duty({
      clock,
      leases,
      lease: store.lease,
      round: take => this.#round(take),
      failed: error => {
        log.debug({ reason: (error as Error).message }, 'the catalogue of images is looked at later')
        return { ms: this.#soonMs }
      },
    })
    const words = { trouble: 'the registry cannot be read', over: 'the registry can be read again' }
    this.#failures = new Rarely({ clock, log, ...words })
  }

  /** Why this replica could not read the registry; undefined once any replica has read it. */
  trouble(): RegistryTrouble | undefined {
    return this.#trouble
  }

  start(): void {
    this.#duty.start()
  }

  /** Aborts a reading in progress, and releases its lease. */
  async stop(): Promise<void> {
    await this.#duty.stop()
  }

  /** Makes it check soon whether a reading is due, since Redis may have lost its data. */
  wake(): void {
    this.#duty.wake()
  }

  async #round(take: Take): Promise<Rest> {
    const dueInMs = await this.#dueInMs()
    if (dueInMs > 0) return { ms: dueInMs }
    const token = await take()
    if (token === null) return { ms: lookAgainMs }
    // Another replica may have read the registry meanwhile.
    const stillDue = (await this.#dueInMs()) <= 0
    if (stillDue && !(await this.#refresh(token))) return { ms: lookAgainMs }
    // The next round computes the rest from the new catalogue.
    return { ms: 0 }
  }

  async #dueInMs(): Promise<number> {
    const look = await this.#parts.catalogues.look()
    this.#reportRecovery(look)
    const { version, sinceAttemptMs } = look
    const everyMs = version === undefined ? this.#soonMs : this.#intervalMs
    // Redis' clock may have stepped back.
    if (sinceAttemptMs === undefined || sinceAttemptMs < 0) return 0
    return everyMs - sinceAttemptMs
  }

  get #intervalMs(): number {
    return this.#parts.images.refreshIntervalSeconds * 1000
  }

  get #soonMs(): number {
    return Math.min(soonMs, this.#intervalMs)
  }

  /** @returns false if another replica has the lease now */
  async #refresh(token: string): Promise<boolean> {
    const { clock, metrics, store, failpoint } = this.#parts
    const begunMs = clock.monotonicMs()
    let result: 'done' | 'failed' = 'failed'
    try {
      const read = await this.#read()
      const found = read && {
        version: randomUUID(),
        body: encodeCatalogue(read.catalogue),
        digests: await this.#supersededDigests(read),
      }
      await failpoint('catalogue.read')
      const written = await store.end(token, found)
      await failpoint('catalogue.written')
      if (found && written) result = 'done'
      return written
    } finally {
      if (!this.#duty.signal.aborted)
        metrics.catalogueRefreshDuration.observe({ result }, (clock.monotonicMs() - begunMs) / 1000)
    }
  }

  /** @returns null if the registry cannot be read */
  async #read(): Promise<CatalogueRead | null> {
    const { images, source, clock, catalogues, log } = this.#parts
    const { signal } = this.#duty
    const known = knownDigests(catalogues.known)
    try {
      const read = await readCatalogue({ images, source, clock, known, signal })
      const { trouble, catalogue, missing } = read
      if (trouble) log.debug({ err: trouble }, 'the registry did not return all digests')
      log.debug({ images: catalogue.all.length }, 'the registry was read')
      this.#reportMissing(missing)
      return read
    } catch (error) {
      signal.throwIfAborted()
      this.#reportFailure(error as Error)
      return null
    }
  }

  /** Remembered digests that this reading replaces; null for tags that are gone. */
  async #supersededDigests({ digests }: CatalogueRead): Promise<ReadonlyMap<string, string | null>> {
    const superseded = new Map<string, string | null>()
    for (const tag of await this.#parts.store.remembered()) {
      const digest = digests.get(tag)
      if (digest !== null) superseded.set(tag, digest ?? null)
    }
    return superseded
  }

  /** Logs missing tags once per replica, and again when they change. They are not an error. */
  #reportMissing(tags: readonly string[]): void {
    const before = this.#missing
    this.#missing = tags
    const { log } = this.#parts
    if (tags.some(tag => !before.includes(tag))) {
      log.warn({ tags }, 'the registry lacks tags that the configuration names')
    } else if (tags.length === 0 && before.length > 0) {
      log.info({ tags: before }, 'the registry has the tags that it lacked')
    }
  }

  #reportFailure(error: Error): void {
    this.#failingSince ??= { version: this.#parts.catalogues.version }
    this.#trouble = { words: registryWords(error), message: error.message }
    this.#failures.failed(error.message)
  }

  /** Ends the trouble when any replica has read the registry. */
  #reportRecovery({ version }: CatalogueLook): void {
    if (!this.#failingSince || version === undefined || version === this.#failingSince.version) return
    this.#failingSince = undefined
    this.#trouble = undefined
    this.#failures.worked()
  }
}

/** Digests by tag and alias. Aliases are no images of the catalogue, so they would be lost if their digest cannot be read. */
function knownDigests(catalogue: Catalogue | null): ReadonlyMap<string, string> {
  const { all, menu, prepull, types } = catalogue ?? { all: [], menu: [], prepull: [], types: {} }
  const images = [...all, ...menu, ...prepull, ...Object.values(types)]
  return new Map(
    images.flatMap(({ tag, aliases, digest }) =>
      digest === null ? [] : [tag, ...aliases].map(name => [name, digest] as const),
    ),
  )
}
