/** The watch on what the cluster says of the pods of apps. Only REST needs it, for the events of apps. */
import { appOfPod } from '../../apps/watches.ts'
import { Listeners } from '../../base/listeners.ts'
import { keyOf } from '../../kube/cache.ts'
import type { PodEventFacts } from '../../kube/pods/facts.ts'
import { projectPodEvent } from '../../kube/pods/project.ts'
import { Reflector } from '../../kube/reflector.ts'
import type { Fact } from '../../reconcile/types.ts'
import type { AppReplica } from './replica.ts'

/** A namespace of a group has tens of apps. Kubernetes keeps an event for an hour. */
const eventsPerNamespace = 1_000

export function joinPodEvents({ basics: { clock, log }, kube, world }: Pick<AppReplica, 'basics' | 'kube' | 'world'>) {
  const { applications, pods } = world.sights
  const listeners = new Listeners<Fact>()
  const reflector = new Reflector<PodEventFacts>({
    ...{ client: kube, apiVersion: 'v1', kind: 'Event', fieldSelector: 'involvedObject.kind=Pod' },
    keepPerNamespace: eventsPerNamespace,
    wants: namespace => world.inNamespace(namespace).length > 0,
    project: projectPodEvent,
    ...{ clock, log },
  })
  const tell = (namespace: string, pod: Fact | undefined) => {
    const app = pod && applications.get(keyOf(namespace, appOfPod(pod)))
    if (app) listeners.notify(app)
  }
  reflector.on(change => {
    if (change.type === 'put') tell(change.namespace, pods.get(keyOf(change.namespace, change.value.pod)))
  })
  // An event may come before its pod.
  pods.on(change => {
    if (change.type === 'put' && change.previous === undefined) tell(change.namespace, change.value)
  })
  return {
    start: () => void reflector.start(),
    stop: () => reflector.stop(),
    /** Events about the pods of an app, oldest first. */
    of: (app: Fact): readonly PodEventFacts[] => {
      const uids = new Set(world.podsOf(app).map(({ uid }) => uid))
      if (uids.size === 0) return []
      return [...reflector.byNamespace(app.ref.namespace ?? '')].filter(({ podUid }) => uids.has(podUid))
    },
    on: (listener: (app: Fact) => void) => listeners.add(listener),
  }
}
