/** Joins a replica's access to the cluster: the client and the watches. */
import { clusterView } from '../ops/view.ts'
import { Watches } from '../ops/watches.ts'
import type { Basics } from './basics.ts'
import { joinKube } from './kube.ts'

/**
 * How long a watch on pods lasts where labs are asked for their activity. The server sends bookmarks once a minute, but opens a
 * watch at once: so the replica knows that what it sees of addresses is the present.
 */
const podWatchMs = 6_000

export type Cluster = ReturnType<typeof joinCluster>

export function joinCluster(basics: Basics) {
  const { config, clock, log } = basics
  const { kube, withoutRight } = joinKube(basics)
  const { installation, lab } = config
  const watches = new Watches({
    ...{ client: kube, installation, namespacePrefix: lab.namespacePrefix, clock, log },
    ...(config.idle.enabled && { podTimes: { watchTimeoutMs: podWatchMs } }),
  })
  return { kube, withoutRight, watches, view: clusterView(watches) }
}
