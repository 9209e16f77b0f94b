/** What a cluster is to who runs against it, and what may be asked for. */
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'

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
