import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderKubeconfig } from '../kube/credentials.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { Progress } from '../process/progress.ts'
import { whyNoRealNode } from '../run/claim.ts'
import type { Need, Tools } from '../setup/setup.ts'
import { startBox } from './box-cluster.ts'
import { useYours } from './existing-cluster.ts'

/** A Kubernetes cluster to run against, wherever it comes from. */
export interface Cluster {
  readonly provider: 'yours' | 'containers' | 'box'
  /** The path of an administrator's kubeconfig. */
  readonly kubeconfig: string
  /** Whether there is a node that really runs pods. */
  readonly realNode: boolean
  /** How many nodes of KWOK there are: label `type: kwok`, taint `kwok.x-k8s.io/node=fake:NoSchedule`. */
  readonly kwokNodes: number
  /** `host:port` of the registry that the real node pulls from by plain HTTP; null without one. */
  readonly registry: string | null
  /** The path of the API server's audit log: level Metadata, a line is there before its answer. Null without one. */
  readonly auditLog: string | null
  /** The folder of what this cluster writes. */
  readonly stateDir: string
  /**
   * Makes a kubeconfig with a token of this ServiceAccount, asked for 24 hours (a cluster may give less), and gives its
   * path. The ServiceAccount must exist.
   */
  tokenKubeconfig(namespace: string, serviceAccount: string): Promise<string>
  /** Applies objects as the administrator (server-side apply). */
  apply(manifestYaml: string): Promise<void>
  /** Takes away what was started; a cluster of yours stays as it is. May be called again. */
  stop(): Promise<void>
}

export interface ClusterChoice {
  /** Your own cluster, by a kubeconfig file, a context of it, or both. Never one that nobody named. */
  kubeconfig?: string | undefined
  context?: string | undefined
  /** In a container of the Docker engine that answers, without a real node. Default: in a box. */
  containers?: boolean | undefined
  realNode: 'auto' | 'never'
  /** How many nodes of KWOK to make, in the box. */
  kwok: number
  audit: boolean
  /** Whether pods of the real node find the cluster's DNS. In the box only, and default false: somebody must serve it. */
  names?: boolean | undefined
}

export interface ClusterOptions extends ClusterChoice {
  /** The folder of an open run; the cluster is ended with it at the latest. */
  stateDir: string
  tools: Tools
  progress: Progress
  signal?: AbortSignal | undefined
}

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

/** What all providers share: manifests and tokens, by kubectl. */
export function clusterBasics(kubectl: Kubectl, stateDir: string): Pick<Cluster, 'apply' | 'tokenKubeconfig'> {
  return {
    async apply(manifestYaml) {
      await kubectl(['apply', '--server-side', '-f', '-'], { input: manifestYaml })
    },
    async tokenKubeconfig(namespace, serviceAccount) {
      const view = JSON.parse(await kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json']))
      const token = await kubectl(['create', 'token', serviceAccount, '-n', namespace, '--duration', '24h'])
      const path = join(stateDir, `${namespace}.${serviceAccount}.kubeconfig`)
      const text = renderKubeconfig({ cluster: view.clusters[0].cluster, token: token.trim(), namespace })
      writeFileSync(path, text, { mode: 0o600 })
      return path
    },
  }
}
