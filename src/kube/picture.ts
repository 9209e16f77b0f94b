/** The cached projections of a reflector, and its listeners. Independent of lists and watches. */
import type { KubeObject } from '../base/domain.ts'
import type { Log } from '../base/log.ts'
import { type Entry, keyOf, ProjectionCache } from './cache.ts'

/**
 * A change for listeners. `confirmed` is true for a DELETED event of the watch: this object no longer exists. It is
 * false when a list lacked the object, or had another of its name: a reason to ask, not a proof.
 */
export type Change<T> =
  | { readonly type: 'put'; readonly value: T; readonly previous?: T }
  | { readonly type: 'gone'; readonly value: T; readonly confirmed: boolean }

export type ChangeListener<T> = (change: Change<T>) => void

export interface PictureOptions<T> {
  readonly kind: string
  /** Projects an object to the kept value; undefined keeps nothing. The result must depend on the object alone. */
  readonly project: (object: KubeObject) => T | undefined
  /** Keeps at most this many per namespace, those changed last. Default: all. */
  readonly keepPerNamespace?: number
  readonly log: Log
}

export class Picture<T> {
  readonly #options: PictureOptions<T>
  readonly #cache: ProjectionCache<T>
  readonly #listeners = new Set<ChangeListener<T>>()
  /** Number of listeners that threw, and of objects that could not be projected. */
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

  /** Stores the current state of an object. A known resource version is not reported again. */
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
    this.#notify(previous === undefined ? { type: 'put', value } : { type: 'put', value, previous })
  }

  /** Handles the last state of a deleted object. A newer object of its name stays. */
  remove(object: KubeObject): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name)
    const known = this.#cache.get(key)
    const same = known?.uid === versionOf(object).uid
    const value = this.#project(object) ?? (same ? known.value : undefined)
    if (same) this.#cache.delete(key)
    if (value !== undefined) this.#notify({ type: 'gone', value, confirmed: true })
  }

  /** Drops entries that a complete list does not contain. */
  keepOnly(listed: ReadonlySet<string>): void {
    for (const key of [...this.#cache.keys()]) {
      if (!listed.has(key)) this.#lose(key, this.#cache.get(key)!)
    }
  }

  #lose(key: string, entry: Entry<T>): void {
    this.#cache.delete(key)
    this.#notify({ type: 'gone', value: entry.value, confirmed: false })
  }

  /** An object that cannot be projected must not end the watch: it would return with the next one. */
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

  #notify(change: Change<T>): void {
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
