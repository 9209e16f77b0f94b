/** The catalogue as this replica knows it: read from Redis, with its body only if it has changed. */
import type { Clock } from '../../base/clock.ts'
import { Listeners } from '../../base/listeners.ts'
import type { CatalogueLook, ImageStore } from '../../store/images.ts'
import { decodeCatalogue } from './text.ts'
import type { Catalogue } from './types.ts'

export interface Catalogues {
  /**
   * The newest catalogue; null if no replica has ever read the registry.
   * @throws {RetryLater} Redis does not answer
   */
  read(): Promise<Catalogue | null>
  /**
   * As `read`, but as it was up to 5 s ago: mostly without waiting. For creations, of which many come at once.
   * @throws {RetryLater} Redis does not answer
   */
  recent(): Promise<Catalogue | null>
  /** The catalogue that was read last, without a request. */
  readonly known: Catalogue | null
}

/** Creations ask Redis for a newer catalogue once in this time. */
const freshMs = 1000
/** How long a creation may use a catalogue while Redis is asked for a newer one. docs/api.md promises this time. */
const usableMs = 5000

export class StoredCatalogues implements Catalogues {
  readonly #store: Pick<ImageStore, 'look'>
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #version: string | undefined
  #known: Catalogue | null = null
  #looking: Promise<CatalogueLook> | undefined
  readonly #changed = new Listeners<Catalogue>()
  readonly #missing = new Listeners()

  constructor(store: Pick<ImageStore, 'look'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#store = store
    this.#clock = clock
  }

  /** Tells of each catalogue that is another one than before. */
  onChange(listener: (catalogue: Catalogue) => void): void {
    this.#changed.add(listener)
  }

  /** Tells that Redis has none. */
  onMissing(listener: () => void): void {
    this.#missing.add(listener)
  }

  get known(): Catalogue | null {
    return this.#known
  }

  /** The version of the known catalogue. */
  get version(): string | undefined {
    return this.#version
  }

  /** After Redis was emptied, the known catalogue remains valid until the registry is read again. */
  async read(): Promise<Catalogue | null> {
    await this.agreed()
    return this.#known
  }

  async recent(): Promise<Catalogue | null> {
    const ageMs = this.#clock.monotonicMs() - this.#lookedAtMs
    if (this.#known === null || ageMs >= usableMs) return this.read()
    // A failure is met by the read that waits.
    if (ageMs >= freshMs && !this.#looking) this.agreed().catch(() => {})
    return this.#known
  }

  /**
   * The newest catalogue, or null while Redis has none: for decisions on behalf of all replicas. After Redis was
   * emptied each replica knows a different catalogue, and a replica with an old one would undo the work of others.
   * @throws {RetryLater} Redis does not answer
   */
  async agreed(): Promise<Catalogue | null> {
    const { version } = await this.look()
    if (version !== undefined) return this.#known
    this.#missing.notify()
    return null
  }

  /** The state of the catalogue in Redis; concurrent callers share one look-up. */
  look(): Promise<CatalogueLook> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<CatalogueLook> {
    const nowMs = this.#clock.monotonicMs()
    const look = await this.#store.look(this.#version)
    this.#lookedAtMs = nowMs
    if (look.body !== undefined && look.version !== undefined) {
      this.#known = decodeCatalogue(look.body)
      this.#version = look.version
      this.#changed.notify(this.#known)
    }
    return look
  }
}
