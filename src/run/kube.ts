/** Joins a process's client of the cluster. */
import { Listeners } from '../base/listeners.ts'
import { KubeClient } from '../kube/client.ts'
import { type Basics, version } from './basics.ts'

export function joinKube({ settings, config, clock, log, metrics }: Basics) {
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
  return { kube, withoutRight }
}
