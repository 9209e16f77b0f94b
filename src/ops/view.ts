/** Gives the engine one view of a replica's watches. */

import type { ClusterView } from './cluster.ts'
import type { Watches } from './watches.ts'

export function clusterView({ namespaces, pods, podEvents }: Watches): ClusterView {
  return {
    namespace: name => namespaces.get(name),
    namespaces: () => namespaces.values(),
    pods: namespace => [...pods.byNamespace(namespace)],
    podEvents: namespace => [...podEvents.byNamespace(namespace)],
    onChange: listener => {
      const offs = [
        namespaces.on(change => {
          const { name, uid } = change.value
          listener({ namespace: name, ...(isGone(change) && { goneUid: uid }) })
        }),
        pods.on(change => {
          const pod = change.value
          const missing = change.type === 'gone' && !change.confirmed
          listener({ namespace: pod.namespace, pod, missing, ...(isGone(change) && { goneUid: pod.uid }) })
        }),
        podEvents.on(({ value }) => listener({ namespace: value.namespace })),
      ]
      return () => {
        for (const off of offs) off()
      }
    },
  }
}

/** Only a DELETED event proves that an object is gone. */
const isGone = (change: { type: 'put' } | { type: 'gone'; confirmed: boolean }): boolean =>
  change.type === 'gone' && change.confirmed
