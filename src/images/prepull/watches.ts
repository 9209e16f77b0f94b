/**
 * The watches of prepulling: nodes, our DaemonSets and their pods. Every replica has them, so that each can report the state
 * of images, and continue at once when the prepulling replica has died.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { KubeClient } from '../../kube/client.ts'
import { Reflector, type ReflectorTimes } from '../../kube/reflector.ts'
import { WatchGroup } from '../../kube/watch-group.ts'
import { type NodeFacts, projectNode } from './nodes.ts'
import { type PullPod, type PullSet, prepullLabel, projectPullPod, projectPullSet } from './pull-set.ts'

export interface PrepullWatchesOptions {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>
  readonly installation: string
  /** The controller's own namespace. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly times?: Partial<ReflectorTimes>
}

/** The prepuller's view of the cluster. It may lag, so an absence in it proves nothing. */
export interface PrepullView {
  /** True once all watches have had a complete list. */
  ready(): boolean
  whenReady(signal: AbortSignal): Promise<void>
  nodes(): readonly NodeFacts[]
  sets(): readonly PullSet[]
  pods(): readonly PullPod[]
  /** Calls the listener after a relevant change. */
  onChange(listener: () => void): () => void
}

type WatchName = 'nodes' | 'daemonSets' | 'prepullPods'

export class PrepullWatches extends WatchGroup<WatchName> implements PrepullView {
  readonly #nodes: Reflector<NodeFacts>
  readonly #sets: Reflector<PullSet>
  readonly #pods: Reflector<PullPod>

  constructor({ installation, namespace, ...common }: PrepullWatchesOptions) {
    const ours = { ...common, namespace, labelSelector: `${prepullLabel}=${installation}` }
    const nodes = new Reflector({ ...common, apiVersion: 'v1', kind: 'Node', project: projectNode })
    const sets = new Reflector({ ...ours, apiVersion: 'apps/v1', kind: 'DaemonSet', project: projectPullSet })
    const pods = new Reflector({ ...ours, apiVersion: 'v1', kind: 'Pod', project: projectPullPod })
    super({ nodes, daemonSets: sets, prepullPods: pods })
    this.#nodes = nodes
    this.#sets = sets
    this.#pods = pods
  }

  nodes(): readonly NodeFacts[] {
    return [...this.#nodes.values()]
  }

  sets(): readonly PullSet[] {
    return [...this.#sets.values()]
  }

  pods(): readonly PullPod[] {
    return [...this.#pods.values()]
  }

  /** Heartbeats and the counts in a DaemonSet's status are not relevant. */
  onChange(listener: () => void): () => void {
    const offs = this.all().map(reflector =>
      reflector.on(change => {
        const isNews = change.type === 'gone' || !isDeepStrictEqual(plain(change.previous), plain(change.value))
        if (isNews) listener()
      }),
    )
    return () => {
      for (const off of offs) off()
    }
  }
}

/** Facts without fields that change with every write. */
function plain(facts: unknown): unknown {
  return typeof facts === 'object' && facts !== null && 'resourceVersion' in facts
    ? { ...facts, resourceVersion: '' }
    : facts
}
