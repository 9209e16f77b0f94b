/**
 * What the watches show of notebooks and labelled StatefulSets together: which owner has which set, and which pod. The chain goes
 * by UIDs: a pod or a set that only has the right name is none of theirs.
 */
import type { ChangeListener } from '../../kube/picture.ts'
import type { OwnerFacts, ServiceFacts, SetFacts, SetPodFacts } from './objects.ts'
import { podNameOf, setNameOf } from './objects.ts'

/** As much of a reflector as is needed. */
export interface Shown<T> {
  get(key: string): T | undefined
  values(): Iterable<T>
  lastWordAgeMs(): number
  on(listener: ChangeListener<T>): () => void
}

export interface NotebookWatches {
  readonly notebooks: Shown<OwnerFacts>
  readonly statefulSets: Shown<SetFacts>
  readonly pods: Shown<SetPodFacts>
  /** Only where a rule asks at the address of a Service. */
  readonly services?: Pick<Shown<ServiceFacts>, 'get'> | undefined
  /** Namespaces of tenants, by name. Only where a rule names tenants. */
  readonly tenants?: Pick<Shown<unknown>, 'get'> | undefined
}

export type NotebookWorkloadKind = 'notebook' | 'statefulset'

/** An owner with its set and the pod of that. */
export interface Seen {
  readonly owner: OwnerFacts
  readonly set: SetFacts | undefined
  readonly pod: SetPodFacts | undefined
}

export const keyOf = ({ namespace, name }: Pick<OwnerFacts, 'namespace' | 'name'>): string => `${namespace}/${name}`

export class NotebookSight {
  readonly #watches: NotebookWatches
  readonly #sets = new SetsByNotebook()

  /** Before the watches begin: what they show is counted from here on. */
  constructor(watches: NotebookWatches) {
    const { statefulSets } = watches
    this.#watches = watches
    for (const set of statefulSets.values()) this.#sets.put(keyOf(set), set)
    statefulSets.on(change => this.#sets.put(keyOf(change), change.type === 'put' ? change.value : undefined))
  }

  /** @returns undefined if there is no such owner */
  get(kind: NotebookWorkloadKind, id: string): Seen | undefined {
    const owner = kind === 'notebook' ? this.#watches.notebooks.get(id) : this.#labelled(id)
    if (!owner) return undefined
    const set = kind === 'notebook' ? this.#setOf(owner) : this.#labelled(id)
    return { owner, set, pod: set && this.#podOf(set) }
  }

  service(id: string): ServiceFacts | undefined {
    return this.#watches.services?.get(id)
  }

  /** The LNamespace that a namespace is of, which has its name. */
  tenant(namespace: string): string | undefined {
    return this.#watches.tenants?.get(namespace) === undefined ? undefined : namespace
  }

  /** All ids of a kind, whether or not anything runs. */
  *ids(kind: NotebookWorkloadKind): Generator<string, void, undefined> {
    if (kind === 'notebook') for (const owner of this.#watches.notebooks.values()) yield keyOf(owner)
    else for (const set of this.#watches.statefulSets.values()) if (set.labelled) yield keyOf(set)
  }

  /** Milliseconds since the watches of what is asked and stopped heard from the API server. */
  silenceMs(): number {
    return this.#watches.pods.lastWordAgeMs()
  }

  /**
   * Calls the listener with each workload that may have changed.
   * @returns a function that removes the listener
   */
  on(listener: (kind: NotebookWorkloadKind, id: string) => void): () => void {
    const { notebooks, statefulSets, pods } = this.#watches
    const ofSet = (set: SetFacts | undefined) => {
      if (set?.notebook) listener('notebook', keyOf({ namespace: set.namespace, name: set.notebook.name }))
      else if (set?.labelled) listener('statefulset', keyOf(set))
    }
    const offs = [
      notebooks.on(change => listener('notebook', keyOf(change))),
      statefulSets.on(change => {
        // A set may change hands, or lose its label.
        if (change.type === 'put') ofSet(change.previous)
        ofSet(change.value)
      }),
      pods.on(({ namespace, name }) => ofSet(statefulSets.get(keyOf({ namespace, name: setNameOf(name) ?? '' })))),
    ]
    return () => offs.every(off => off())
  }

  #labelled(id: string): SetFacts | undefined {
    const set = this.#watches.statefulSets.get(id)
    return set?.labelled ? set : undefined
  }

  #setOf(notebook: OwnerFacts): SetFacts | undefined {
    const key = this.#sets.keyOf(notebook)
    return key === undefined ? undefined : this.#watches.statefulSets.get(key)
  }

  #podOf(set: SetFacts): SetPodFacts | undefined {
    const pod = this.#watches.pods.get(keyOf({ namespace: set.namespace, name: podNameOf(set.name) }))
    return pod?.setUid === set.uid && set.uid !== '' ? pod : undefined
  }
}

/**
 * The sets that name a notebook as their owner, by namespace and UID. A search among all sets of a namespace takes as long as
 * people like: of 3,000 notebooks and as many sets it took 1.7 s.
 */
class SetsByNotebook {
  readonly #keys = new Map<string, Set<string>>()
  readonly #owners = new Map<string, string>()

  /** @param set undefined: it is gone */
  put(key: string, set: SetFacts | undefined): void {
    const owner = set?.notebook && ownerKey(set.namespace, set.notebook.uid)
    const before = this.#owners.get(key)
    if (owner === before) return
    if (before !== undefined) this.#remove(before, key)
    if (owner === undefined) return
    this.#owners.set(key, owner)
    this.#keys.set(owner, (this.#keys.get(owner) ?? new Set()).add(key))
  }

  /** Mostly that of the same name; Kubeflow shortens a long one. */
  keyOf(notebook: OwnerFacts): string | undefined {
    const keys = this.#keys.get(ownerKey(notebook.namespace, notebook.uid) ?? '')
    return keys?.has(keyOf(notebook)) ? keyOf(notebook) : keys?.values().next().value
  }

  #remove(owner: string, key: string): void {
    this.#owners.delete(key)
    const keys = this.#keys.get(owner)
    keys?.delete(key)
    if (keys?.size === 0) this.#keys.delete(owner)
  }
}

const ownerKey = (namespace: string, uid: string): string | undefined =>
  uid === '' ? undefined : `${namespace}/${uid}`
