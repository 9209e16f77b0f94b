/** The interface of a cluster for programs and tests, and their choice of one. */
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'

/** A Kubernetes cluster to run against, wherever it comes from. */
export interface Cluster {
  readonly provider: 'yours' | 'containers' | 'box'
  /** The path of an administrator's kubeconfig. */
  readonly kubeconfig: string
  /** Whether there is a node that really runs pods. */
  readonly realNode: boolean
  /** Number of nodes of KWOK, with label `type: kwok` and taint `kwok.x-k8s.io/node=fake:NoSchedule`. */
  readonly kwokNodes: number
  /** `host:port` of the registry that the real node pulls from by plain HTTP; null without one. */
  readonly registry: string | null
  /** The path of the API server's audit log (level Metadata; the line precedes the response). Null without one. */
  readonly auditLog: string | null
  /** The folder that this cluster writes into. */
  readonly stateDir: string
  /**
   * Makes a kubeconfig with a token of this ServiceAccount and returns its path. The token is asked for 24 hours; a
   * cluster may give less. The ServiceAccount must exist.
   */
  tokenKubeconfig(namespace: string, serviceAccount: string): Promise<string>
  /** Applies objects as the administrator (server-side apply). */
  apply(manifestYaml: string): Promise<void>
  /** Removes what was started; an existing cluster stays as it is. Can be called again. */
  stop(): Promise<void>
}

export interface ClusterChoice {
  /** An existing cluster, by a kubeconfig file, a context of it, or both. Never one that nobody named. */
  kubeconfig?: string | undefined
  context?: string | undefined
  /** In a container of the available Docker engine, without a real node. Default: in the box. */
  containers?: boolean | undefined
  realNode: 'auto' | 'never'
  /** Number of nodes of KWOK in the box. */
  kwok: number
  /** Addresses of pods on nodes of KWOK, such as 127.77.0.0/16. In the box only; by default nothing is there. */
  podRange?: string | undefined
  audit: boolean
  /** Whether pods of the real node use the cluster's DNS. In the box only; default false, since the caller must serve it. */
  names?: boolean | undefined
  /** Tokens of people without any role, by their names. In the box only. */
  people?: Readonly<Record<string, string>> | undefined
}

export interface ClusterOptions extends ClusterChoice {
  /** The folder of an open run; the cluster ends with the run at the latest. */
  stateDir: string
  tools: Tools
  progress: Progress
  signal?: AbortSignal | undefined
}
