/** What a reflector shows: the projections, and who is told when one changes. Knows nothing of lists and watches. */
import type { KubeObject } from '../base/domain.ts'
import type { Log } from '../base/log.ts'
import { type Entry, keyOf, ProjectionCache } from './cache.ts'

/**
 * What a listener is told. `confirmed` is true for a DELETED event seen on the watch: this very object no longer
 * exists. It is false when a list did not have the object, or had another under its name: reason to ask, no proof.
 */
export type Change<T> =
  | { readonly type: 'put'; readonly value: T; readonly previous?: T }
  | { readonly type: 'gone'; readonly value: T; readonly confirmed: boolean }

export type ChangeListener<T> = (change: Change<T>) => void

export interface PictureOptions<T> {
  readonly kind: string
  /** From an object to what is kept of it; undefined to keep nothing, for a reason that never changes. */
  readonly project: (object: KubeObject) => T | undefined
  /** At most so many are kept of each namespace, the latest to change. Default: all. */
  readonly keepPerNamespace?: number
  readonly log: Log
}

export class Picture<T> {
  readonly #options: PictureOptions<T>
  readonly #cache: ProjectionCache<T>
  readonly #listeners = new Set<ChangeListener<T>>()
  /** Listeners that threw, and objects that could not be projected. */
  errors = 0

  constructor(options: PictureOptions<T>) {
    this.#options = options
    this.#cache = new ProjectionCache(options.keepPerNamespace)
  }

  get cache(): Pick<ProjectionCache<T>, 'get' | 'values' | 'valuesOf' | 'size'> {
    return this.#cache
  }

  on(listener: ChangeListener<T>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes an object as it is now. What is known already, by its resource version, is told nobody again. */
  put(object: KubeObject): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name)
    const { uid, resourceVersion } = versionOf(object)
    const known = this.#cache.get(key)
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return
    if (known && known.uid !== uid) this.#lose(key, known)
    const value = this.#project(object)
    if (value === undefined) return
    this.#cache.put(key, { uid, resourceVersion, value })
    const previous = known?.uid === uid ? known.value : undefined
    this.#tell(previous === undefined ? { type: 'put', value } : { type: 'put', value, previous })
  }

  /** Takes the last state of an object that is deleted. A younger one of its name stays. */
  remove(object: KubeObject): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name)
    const known = this.#cache.get(key)
    const same = known?.uid === versionOf(object).uid
    const value = this.#project(object) ?? (same ? known.value : undefined)
    if (same) this.#cache.delete(key)
    if (value !== undefined) this.#tell({ type: 'gone', value, confirmed: true })
  }

  /** Drops what a complete list did not have. */
  keepOnly(listed: ReadonlySet<string>): void {
    for (const key of [...this.#cache.keys()]) {
      if (!listed.has(key)) this.#lose(key, this.#cache.get(key)!)
    }
  }

  #lose(key: string, entry: Entry<T>): void {
    this.#cache.delete(key)
    this.#tell({ type: 'gone', value: entry.value, confirmed: false })
  }

  /** An object that cannot be projected must not end the watch: it would come again with the next one. */
  #project(object: KubeObject): T | undefined {
    try {
      return this.#options.project(object)
    } catch (err) {
      this.errors += 1
      const { name, namespace } = object.metadata
      this.#options.log.error({ kind: this.#options.kind, name, namespace, err }, 'object could not be projected')
      return undefined
    }
  }

  #tell(change: Change<T>): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change)
      } catch (err) {
        this.errors += 1
        this.#options.log.error({ kind: this.#options.kind, err }, 'listener of a watch failed')
      }
    }
  }
}

function versionOf({ metadata }: KubeObject): { uid: string; resourceVersion: string } {
  return { uid: metadata.uid ?? '', resourceVersion: String(metadata.resourceVersion ?? '') }
}
