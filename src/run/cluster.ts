/** Joins a replica's access to the cluster: the client and the watches. */
import { Listeners } from '../base/listeners.ts'
import { KubeClient } from '../kube/client.ts'
import { clusterView } from '../ops/view.ts'
import { Watches } from '../ops/watches.ts'
import { type Basics, version } from './basics.ts'

export type Cluster = ReturnType<typeof joinCluster>

export function joinCluster({ settings, config, clock, log, metrics }: Basics) {
  /** Notified when a request was refused for a missing right. */
  const withoutRight = new Listeners()
  const kube = new KubeClient({
    kubernetes: config.kubernetes,
    version,
    replica: settings.replica,
    clock,
    log,
    onRequest: (verb, code, seconds) => metrics.kubernetesRequestDuration.observe({ verb, code }, seconds),
    onRefusal: (verb, reason) => {
      metrics.kubernetesRefusals.inc({ verb, reason })
      if (reason === 'rights') withoutRight.notify()
    },
  })
  const { installation, lab } = config
  const watches = new Watches({ client: kube, installation, namespacePrefix: lab.namespacePrefix, clock, log })
  return { kube, withoutRight, watches, view: clusterView(watches) }
}
