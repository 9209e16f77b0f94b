/** The engine's access to the cluster: watches show its probable state, requests its actual state. */
import type { KubeObject } from '../base/domain.ts'
import type { KubeClient } from '../kube/client.ts'
import type { NamespaceFacts, PodEventFacts, PodFacts } from '../kube/pods/facts.ts'

/** A change of a namespace or of an object in it. */
export interface Change {
  readonly namespace: string
  /** UID of the changed pod; undefined if another object changed. */
  readonly podUid?: string | undefined
  /** The changed pod in its current or last known state, which is read only now. */
  readonly pod?: PodFacts | undefined
  /** The pod is missing from a list, which does not prove that it is gone. */
  readonly missing?: boolean
  /** UID of a deleted object, from its DELETED event, which proves that it is gone. */
  readonly goneUid?: string | undefined
}

/** The watches' cache. An object that it lacks may be newer, so an absence in it is never believed. */
export interface ClusterView {
  namespace(name: string): NamespaceFacts | undefined
  namespaces(): Iterable<NamespaceFacts>
  pods(namespace: string): readonly PodFacts[]
  podEvents(namespace: string): readonly PodEventFacts[]
  /** @returns a function that removes the listener */
  onChange(listener: (change: Change) => void): () => void
  /** As `onChange`, for the changes of one namespace. */
  onChangeOf(namespace: string, listener: (change: Change) => void): () => void
}

/** The requests that operations make. */
export type ClusterClient = Pick<
  KubeClient,
  'account' | 'create' | 'get' | 'patch' | 'delete' | 'list' | 'request' | 'settled'
>

export const namespaceRef = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', name })

export const podRef = (namespace: string, name: string) => ({ apiVersion: 'v1', kind: 'Pod', namespace, name })

export const refOf = ({ apiVersion, kind, metadata: { name, namespace } }: KubeObject) => ({
  apiVersion,
  kind,
  name,
  ...(namespace !== undefined && { namespace }),
})
