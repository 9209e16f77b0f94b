/** The catalogue as this replica knows it: read from Redis, its body only when there is another one. */
import { Listeners } from '../../base/listeners.ts'
import type { CatalogueLook, ImageStore } from '../../store/images.ts'
import { decodeCatalogue } from './text.ts'
import type { Catalogue } from './types.ts'

export interface Catalogues {
  /**
   * The newest catalogue; null while no replica ever read the registry.
   * @throws {RetryLater} Redis does not answer
   */
  read(): Promise<Catalogue | null>
  /** What was read last, without asking. */
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

  /** Of what is known. */
  get version(): string | undefined {
    return this.#version
  }

  /** A Redis that was emptied makes nothing untrue that was known: it stands until the registry is read again. */
  async read(): Promise<Catalogue | null> {
    await this.agreed()
    return this.#known
  }

  /**
   * The newest catalogue, and null while Redis has none: for who acts in the name of all replicas. After Redis was emptied
   * each knows what it read last, and one that had not looked for a while would undo what the others began.
   * @throws {RetryLater} Redis does not answer
   */
  async agreed(): Promise<Catalogue | null> {
    const { version } = await this.look()
    if (version !== undefined) return this.#known
    this.#missing.tell()
    return null
  }

  /** How the catalogue in Redis stands; all who ask at the same time share one look. */
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
      this.#changed.tell(this.#known)
    }
    return look
  }
}
