/** What the engine knows of the cluster: by watches what is probably so, by requests what is so. */
import type { KubeObject } from '../base/domain.ts'
import type { KubeClient } from '../kube/client.ts'
import type { NamespaceFacts, PodEventFacts, PodFacts } from '../kube/pods/facts.ts'

/** Something about a namespace, or in it, changed. */
export interface Change {
  readonly namespace: string
  /** The pod that it is about, as it is or last was; none where it is about something else. */
  readonly pod?: PodFacts | undefined
  /** The pod is not in a list any more, which is no proof. */
  readonly missing?: boolean
  /** UID of an object that is gone, seen by its DELETED event: this absence is believed. */
  readonly goneUid?: string | undefined
}

/** The watches' memory. What it lacks may be younger than it, so an absence in it is never believed. */
export interface ClusterView {
  namespace(name: string): NamespaceFacts | undefined
  namespaces(): Iterable<NamespaceFacts>
  pods(namespace: string): readonly PodFacts[]
  podEvents(namespace: string): readonly PodEventFacts[]
  onChange(listener: (change: Change) => void): () => void
}

/** The requests that operations make. */
export type ClusterClient = Pick<KubeClient, 'account' | 'create' | 'get' | 'delete' | 'list' | 'request' | 'settled'>

export const namespaceRef = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', name })

export const podRef = (namespace: string, name: string) => ({ apiVersion: 'v1', kind: 'Pod', namespace, name })

export const refOf = ({ apiVersion, kind, metadata: { name, namespace } }: KubeObject) => ({
  apiVersion,
  kind,
  name,
  ...(namespace !== undefined && { namespace }),
})
