/** Projections of a watch's objects, by namespace and name. Cluster-scoped objects have no namespace. */

/** The key of an object: `namespace/name`, or `name` alone without a namespace. */
export function keyOf(namespace: string | undefined, name: string): string {
  return namespace ? `${namespace}/${name}` : name
}

export interface Entry<T> {
  readonly uid: string
  readonly resourceVersion: string
  /** Undefined if it cannot be read. */
  readonly value: T | undefined
}

export class ProjectionCache<T> {
  readonly #namespaces = new Map<string, Map<string, Entry<T>>>()
  readonly #keepPerNamespace: number
  #size = 0

  /** Keeps at most this many entries per namespace; those unchanged for longest are dropped first. */
  constructor(keepPerNamespace: number = Number.POSITIVE_INFINITY) {
    this.#keepPerNamespace = keepPerNamespace
  }

  get size(): number {
    return this.#size
  }

  get(key: string): Entry<T> | undefined {
    const { namespace, name } = placeOf(key)
    return this.#namespaces.get(namespace)?.get(name)
  }

  put(key: string, entry: Entry<T>): void {
    const { namespace, name } = placeOf(key)
    const entries = this.#namespaces.get(namespace) ?? new Map<string, Entry<T>>()
    this.#namespaces.set(namespace, entries)
    // Deleted and set again, so that a namespace's entries are in the order of their changes.
    if (!entries.delete(name)) this.#size += 1
    entries.set(name, entry)
    if (entries.size > this.#keepPerNamespace) this.delete(keyOf(namespace, entries.keys().next().value!))
  }

  delete(key: string): void {
    const { namespace, name } = placeOf(key)
    const entries = this.#namespaces.get(namespace)
    if (!entries?.delete(name)) return
    this.#size -= 1
    if (entries.size === 0) this.#namespaces.delete(namespace)
  }

  *keys(): Generator<string, void, undefined> {
    for (const [namespace, entries] of this.#namespaces) {
      for (const name of entries.keys()) yield keyOf(namespace, name)
    }
  }

  *values(): Generator<T, void, undefined> {
    for (const namespace of this.#namespaces.keys()) yield* this.valuesOf(namespace)
  }

  /** The entries of one namespace, the one unchanged for longest first. */
  *valuesOf(namespace: string): Generator<T, void, undefined> {
    for (const { value } of this.#namespaces.get(namespace)?.values() ?? []) {
      if (value !== undefined) yield value
    }
  }
}

/** What `keyOf` has joined; the namespace is empty without one. */
export function placeOf(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
