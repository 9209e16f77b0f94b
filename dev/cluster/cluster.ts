/** Chooses the provider of a cluster: an existing one, a container, or the box. */
import { whyNoRealNode } from '../run/claim.ts'
import type { Need } from '../setup/setup.ts'
import { startBox } from './box-cluster.ts'
import { useExistingCluster } from './existing-cluster.ts'
import type { Cluster, ClusterChoice, ClusterOptions } from './types.ts'

/** The choice, with SKYLAB_TEST_KUBECONFIG from the environment when the command line names no cluster. */
function withEnvironment<T extends ClusterChoice>(choice: T): T {
  if (choice.kubeconfig || choice.context || choice.containers) return choice
  return { ...choice, kubeconfig: process.env.SKYLAB_TEST_KUBECONFIG || undefined }
}

/** The tools that set-up must install before `startCluster` is called with the same choice. */
export function clusterNeeds(choice: ClusterChoice): Need[] {
  const { kubeconfig, context, containers, realNode } = withEnvironment(choice)
  if (kubeconfig || context) return ['kubectl']
  if (containers) return ['kwok']
  return realNode === 'auto' && whyNoRealNode() === null ? ['cluster', 'node'] : ['cluster']
}

/** Finds or starts a cluster: an existing one when one is named, else a container when asked for, else the box. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const chosen = withEnvironment(options)
  if (chosen.kubeconfig || chosen.context) return useExistingCluster(chosen)
  if (chosen.containers) return (await import('./container-cluster.ts')).startContainerCluster(chosen)
  return startBox(chosen)
}
