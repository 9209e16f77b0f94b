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
  byNamespace(namespace: string): Iterable<T>
  lastWordAgeMs(): number
  on(listener: ChangeListener<T>): () => void
}

export interface NotebookWatches {
  readonly notebooks: Shown<OwnerFacts>
  readonly statefulSets: Shown<SetFacts>
  readonly pods: Shown<SetPodFacts>
  /** Only where a rule asks at the address of a Service. */
  readonly services?: Pick<Shown<ServiceFacts>, 'get'> | undefined
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

  constructor(watches: NotebookWatches) {
    this.#watches = watches
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

  /** Mostly of the same name; Kubeflow shortens a long one. */
  #setOf(notebook: OwnerFacts): SetFacts | undefined {
    const { statefulSets } = this.#watches
    const isTheirs = (set: SetFacts | undefined) => set?.notebook?.uid === notebook.uid && notebook.uid !== ''
    const named = statefulSets.get(keyOf(notebook))
    if (isTheirs(named)) return named
    for (const set of statefulSets.byNamespace(notebook.namespace)) if (isTheirs(set)) return set
    return undefined
  }

  #podOf(set: SetFacts): SetPodFacts | undefined {
    const pod = this.#watches.pods.get(keyOf({ namespace: set.namespace, name: podNameOf(set.name) }))
    return pod?.setUid === set.uid && set.uid !== '' ? pod : undefined
  }
}
