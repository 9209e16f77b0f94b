/** Where a cluster comes from: yours, a container, or the box. */
import { whyNoRealNode } from '../run/claim.ts'
import type { Need } from '../setup/setup.ts'
import { startBox } from './box-cluster.ts'
import { useYours } from './existing-cluster.ts'
import type { Cluster, ClusterChoice, ClusterOptions } from './types.ts'

/** The choice with the environment's SKYLAB_TEST_KUBECONFIG in it, where the command line names no cluster. */
function withEnvironment<T extends ClusterChoice>(choice: T): T {
  if (choice.kubeconfig || choice.context || choice.containers) return choice
  return { ...choice, kubeconfig: process.env.SKYLAB_TEST_KUBECONFIG || undefined }
}

/** What set-up must bring before `startCluster` is called with the same choice. */
export function clusterNeeds(choice: ClusterChoice): Need[] {
  const { kubeconfig, context, containers, realNode } = withEnvironment(choice)
  if (kubeconfig || context) return ['kubectl']
  if (containers) return ['kwok']
  return realNode === 'auto' && whyNoRealNode() === null ? ['cluster', 'node'] : ['cluster']
}

/** Finds or starts a cluster: yours where one is named, else in a container where that is asked for, else the box. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const chosen = withEnvironment(options)
  if (chosen.kubeconfig || chosen.context) return useYours(chosen)
  if (chosen.containers) return (await import('./container-cluster.ts')).startContainerCluster(chosen)
  return startBox(chosen)
}
