/** The cached projections of a reflector, and its listeners. Independent of lists and watches. */
import type { KubeObject } from '../base/domain.ts'
import type { Log } from '../base/log.ts'
import { type Entry, keyOf, ProjectionCache, placeOf } from './cache.ts'
import type { SeenObject } from './seen.ts'

interface ChangedObject<T> {
  /** Empty for an object without a namespace. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The object's projection; reads the object if that was not done yet. @throws {Error} when it cannot be read */
  readonly value: T
}

/**
 * A change for listeners. `confirmed` is true for a DELETED event of the watch: this object no longer exists. It is
 * false when a list lacked the object, or had another of its name: a reason to ask, not a proof.
 */
export type Change<T> =
  | (ChangedObject<T> & { readonly type: 'put'; readonly previous?: T | undefined })
  | (ChangedObject<T> & { readonly type: 'gone'; readonly confirmed: boolean })

export type ChangeListener<T> = (change: Change<T>) => void

export interface PictureOptions<T> {
  readonly kind: string
  /** Projects an object to the kept value; undefined keeps nothing. The result must depend on the object alone. */
  readonly project: (object: KubeObject) => T | undefined
  /**
   * Reads an object of a watch only when its value is used; it is then projected to a value in any case. Until then its
   * JSON is kept, which takes more memory. Default: each is read as it comes.
   */
  readonly lazy?: boolean
  /** Whether objects of a namespace are kept. Others are not read. Default: all are kept. */
  readonly wants?: (namespace: string) => boolean
  /** Keeps at most this many per namespace, those changed last. Default: all. */
  readonly keepPerNamespace?: number
  readonly log: Log
}

type Place = Pick<SeenObject, 'namespace' | 'name'> | ReturnType<typeof placeOf>
type Identity = Pick<SeenObject, 'namespace' | 'name' | 'uid' | 'resourceVersion'>

/** An entry whose object is read when its value is used for the first time. */
class UnreadEntry<T> implements Entry<T> {
  readonly uid: string
  readonly resourceVersion: string
  #read: (() => T | undefined) | undefined
  #value: T | undefined

  constructor({ uid, resourceVersion }: Identity, read: () => T | undefined) {
    this.uid = uid
    this.resourceVersion = resourceVersion
    this.#read = read
  }

  get value(): T | undefined {
    const read = this.#read
    this.#read = undefined
    if (read) this.#value = read()
    return this.#value
  }
}

/** A class, since getters of a literal take 8 µs. */
class Changed<T> implements ChangedObject<T> {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly #entry: Entry<T>

  constructor({ namespace = '', name }: Place, entry: Entry<T>) {
    this.namespace = namespace
    this.name = name
    this.uid = entry.uid
    this.#entry = entry
  }

  get value(): T {
    const { value } = this.#entry
    if (value === undefined) throw new Error('the object cannot be read')
    return value
  }
}

class Put<T> extends Changed<T> {
  readonly type = 'put'
  readonly #before: Entry<T> | undefined

  constructor(place: Place, entry: Entry<T>, before: Entry<T> | undefined) {
    super(place, entry)
    this.#before = before
  }

  get previous(): T | undefined {
    return this.#before?.value
  }
}

class Gone<T> extends Changed<T> {
  readonly type = 'gone'
  readonly confirmed: boolean

  constructor(place: Place, entry: Entry<T>, confirmed: boolean) {
    super(place, entry)
    this.confirmed = confirmed
  }
}

/** The last state of a deleted object. If it cannot be read, its value is that of the state before it. */
class LastEntry<T> implements Entry<T> {
  readonly uid: string
  readonly resourceVersion: string
  readonly #last: Entry<T>
  readonly #before: Entry<T>

  constructor(last: Entry<T>, before: Entry<T>) {
    this.uid = last.uid
    this.resourceVersion = last.resourceVersion
    this.#last = last
    this.#before = before
  }

  get value(): T | undefined {
    return this.#last.value ?? this.#before.value
  }
}

export class Picture<T> {
  readonly #options: PictureOptions<T>
  readonly #onUnreadable: () => void
  readonly #cache: ProjectionCache<T>
  readonly #listeners = new Set<ChangeListener<T>>()
  /** Number of listeners that threw, and of objects that could not be read or projected. */
  errors = 0

  /** `onUnreadable`: called when an object that was kept cannot be read any more. */
  constructor(options: PictureOptions<T>, onUnreadable: () => void) {
    this.#options = options
    this.#onUnreadable = onUnreadable
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
  put(seen: SeenObject): void {
    if (!this.#isWanted(seen)) return
    const key = keyOf(seen.namespace, seen.name)
    const known = this.#cache.get(key)
    const before = known?.uid === seen.uid ? known : undefined
    if (before?.resourceVersion === seen.resourceVersion) return
    if (known && !before) this.#lose(key, known)
    const entry = this.#entryOf(seen)
    if (!entry) return
    this.#cache.put(key, entry)
    this.#notify(new Put(seen, entry, before))
  }

  /** Handles the last state of a deleted object. A newer object of its name stays. */
  remove(seen: SeenObject): void {
    if (!this.#isWanted(seen)) return
    const key = keyOf(seen.namespace, seen.name)
    const known = this.#cache.get(key)
    const same = known?.uid === seen.uid ? known : undefined
    if (same) this.#cache.delete(key)
    const last = this.#entryOf(seen)
    const entry = last && same ? new LastEntry(last, same) : (last ?? same)
    if (entry) this.#notify(new Gone(seen, entry, true))
  }

  /** Drops entries that a complete list does not contain. */
  keepOnly(listed: ReadonlySet<string>): void {
    for (const key of [...this.#cache.keys()]) {
      if (!listed.has(key)) this.#lose(key, this.#cache.get(key)!)
    }
  }

  #lose(key: string, entry: Entry<T>): void {
    this.#cache.delete(key)
    this.#notify(new Gone(placeOf(key), entry, false))
  }

  #isWanted({ namespace = '' }: SeenObject): boolean {
    return this.#options.wants?.(namespace) ?? true
  }

  /** Undefined for an object of which nothing is kept. */
  #entryOf(seen: SeenObject): Entry<T> | undefined {
    const { namespace, name, uid, resourceVersion } = seen
    const isLazy = this.#options.lazy && !seen.whole
    const read = seen.keep()
    // An unread entry must not keep `seen`, whose line is a view of a chunk from the network.
    const identity = { namespace, name, uid, resourceVersion }
    if (isLazy) return new UnreadEntry(identity, () => this.#readLater(identity, read))
    const value = this.#project(read())
    return value === undefined ? undefined : { uid, resourceVersion, value }
  }

  #readLater({ namespace, name, uid, resourceVersion }: Identity, read: () => KubeObject): T | undefined {
    try {
      return this.#project(read())
    } catch (err) {
      this.errors += 1
      this.#options.log.error({ kind: this.#options.kind, name, namespace, err }, 'object of a watch could not be read')
      // The next list must not take it for known.
      const key = keyOf(namespace, name)
      const current = this.#cache.get(key)
      if (current?.uid === uid && current.resourceVersion === resourceVersion) this.#cache.delete(key)
      this.#onUnreadable()
      return undefined
    }
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
