/** Joins a replica's access to the cluster: the client and the watches. */
import { clusterView } from '../ops/view.ts'
import { Watches } from '../ops/watches.ts'
import type { Basics } from './basics.ts'
import { joinKube } from './kube.ts'

export type Cluster = ReturnType<typeof joinCluster>

export function joinCluster(basics: Basics) {
  const { config, clock, log } = basics
  const { kube, withoutRight } = joinKube(basics)
  const { installation, lab } = config
  const watches = new Watches({ client: kube, installation, namespacePrefix: lab.namespacePrefix, clock, log })
  return { kube, withoutRight, watches, view: clusterView(watches) }
}
