/** Gives the engine one view of a replica's watches. */

import { Listeners, ListenersByKey } from '../base/listeners.ts'
import type { Change, ClusterView } from './cluster.ts'
import type { Watches } from './watches.ts'

export function clusterView({ namespaces, pods, podEvents }: Watches): ClusterView {
  const all = new Listeners<Change>()
  const byNamespace = new ListenersByKey<Change>()
  const notify = (change: Change) => {
    try {
      all.notify(change)
    } finally {
      byNamespace.notify(change.namespace, change)
    }
  }
  namespaces.on(change => {
    notify({ namespace: change.name, ...(isGone(change) && { goneUid: change.uid }) })
  })
  pods.on(change => {
    notify({
      namespace: change.namespace,
      podUid: change.uid,
      get pod() {
        return change.value
      },
      missing: change.type === 'gone' && !change.confirmed,
      ...(isGone(change) && { goneUid: change.uid }),
    })
  })
  podEvents.on(({ namespace }) => notify({ namespace }))
  return {
    namespace: name => namespaces.get(name),
    namespaces: () => namespaces.values(),
    pods: namespace => [...pods.byNamespace(namespace)],
    podEvents: namespace => [...podEvents.byNamespace(namespace)],
    onChange: listener => all.add(listener),
    onChangeOf: (namespace, listener) => byNamespace.add(namespace, listener),
  }
}

/** Only a DELETED event proves that an object is gone. */
const isGone = (change: { type: 'put' } | { type: 'gone'; confirmed: boolean }): boolean =>
  change.type === 'gone' && change.confirmed
