/**
 * The three watches of a replica: our namespaces, our pods, and events of pods. Whoever waits for something in the
 * cluster is told "look again" and reads here; what is missing here is asked of the API server before it is believed.
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
  /** Only what bears this installation's label is seen. */
  readonly installation: string
  /** Events are kept of namespaces whose names begin with this and a dash; they bear no label. */
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Log
  readonly times?: Partial<ReflectorTimes>
}

/** Of a namespace, and it has one pod: enough to tell what befell it, and a bound for one that crashes for hours. */
const eventsPerNamespace = 50

type WatchName = 'namespaces' | 'pods' | 'podEvents'

export class Watches extends WatchGroup<WatchName> {
  readonly namespaces: Reflector<NamespaceFacts>
  readonly pods: Reflector<PodFacts>
  /**
   * Events leave with the DELETED that the cluster sends for each when their namespace goes or their hour is over.
   */
  readonly podEvents: Reflector<PodEventFacts>

  constructor({ installation, namespacePrefix, ...common }: WatchesOptions) {
    const labelSelector = `${labels.installation}=${installation}`
    const ours = { ...common, apiVersion: 'v1', labelSelector }
    const namespaces = new Reflector({ ...ours, kind: 'Namespace', project: projectNamespace })
    const pods = new Reflector({ ...ours, kind: 'Pod', project: projectPod })
    const podEvents = new Reflector({
      ...common,
      apiVersion: 'v1',
      kind: 'Event',
      fieldSelector: 'involvedObject.kind=Pod',
      keepPerNamespace: eventsPerNamespace,
      project: object =>
        object.metadata.namespace?.startsWith(`${namespacePrefix}-`) ? projectPodEvent(object) : undefined,
    })
    super({ namespaces, pods, podEvents })
    this.namespaces = namespaces
    this.pods = pods
    this.podEvents = podEvents
  }
}
