/**
 * The three watches of a replica: our namespaces, our pods, and events of pods. Listeners are only notified of a change
 * and read the state here. An object that is missing here counts as absent only after the API server confirms it.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { KubeClient } from '../kube/client.ts'
import { labels } from '../kube/labels.ts'
import type { NamespaceFacts, PodEventFacts, PodFacts } from '../kube/pods/facts.ts'
import { projectNamespace, projectPod, projectPodEvent } from '../kube/pods/project.ts'
import { Reflector, type ReflectorTimes } from '../kube/reflector.ts'
import { WatchGroup } from '../kube/watch-group.ts'

export interface WatchesOptions {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>
  /** Only objects with this installation's label are seen. */
  readonly installation: string
  /** Events have no label: they are kept if the name of their namespace begins with this and a dash. */
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Log
  readonly times?: Partial<ReflectorTimes>
  /** Times of the watch on pods alone. */
  readonly podTimes?: Partial<ReflectorTimes>
}

/** A namespace has one pod: enough events for its history, and a bound for a pod that crashes for hours. */
const eventsPerNamespace = 50

type WatchName = 'namespaces' | 'pods' | 'podEvents'

export class Watches extends WatchGroup<WatchName> {
  readonly namespaces: Reflector<NamespaceFacts>
  readonly pods: Reflector<PodFacts>
  /**
   * The cluster sends DELETED for each event when its namespace is deleted or its hour is over.
   */
  readonly podEvents: Reflector<PodEventFacts>

  constructor({ installation, namespacePrefix, podTimes, ...common }: WatchesOptions) {
    const labelSelector = `${labels.installation}=${installation}`
    const ours = { ...common, apiVersion: 'v1', labelSelector }
    const namespaces = new Reflector({ ...ours, kind: 'Namespace', project: projectNamespace })
    const pods = new Reflector({
      ...ours,
      kind: 'Pod',
      project: projectPod,
      lazy: true,
      times: { ...common.times, ...podTimes },
    })
    const podEvents = new Reflector({
      ...common,
      apiVersion: 'v1',
      kind: 'Event',
      fieldSelector: 'involvedObject.kind=Pod',
      keepPerNamespace: eventsPerNamespace,
      wants: namespace => namespace.startsWith(`${namespacePrefix}-`),
      // Few are ever used, and they are kept for an hour: as facts they take a third of the memory.
      project: projectPodEvent,
    })
    super({ namespaces, pods, podEvents })
    this.namespaces = namespaces
    this.pods = pods
    this.podEvents = podEvents
  }
}
