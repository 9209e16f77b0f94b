/** The catalogue as this replica knows it: read from Redis, with its body only if it has changed. */
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
  /** The catalogue that was read last, without a request. */
  readonly known: Catalogue | null
}

export class StoredCatalogues implements Catalogues {
  readonly #store: Pick<ImageStore, 'look'>
  #version: string | undefined
  #known: Catalogue | null = null
  #looking: Promise<CatalogueLook> | undefined
  readonly #changed = new Listeners<Catalogue>()
  readonly #missing = new Listeners()

  constructor(store: Pick<ImageStore, 'look'>) {
    this.#store = store
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
    const look = await this.#store.look(this.#version)
    if (look.body !== undefined && look.version !== undefined) {
      this.#known = decodeCatalogue(look.body)
      this.#version = look.version
      this.#changed.notify(this.#known)
    }
    return look
  }
}
