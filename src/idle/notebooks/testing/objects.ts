/** Objects of notebooks as an API server shows them, and watches that a test fills. */
import { silentLog } from '../../../../test/kit/log.ts'
import type { KubeObject } from '../../../base/domain.ts'
import { Picture } from '../../../kube/picture.ts'
import { seenObject } from '../../../kube/seen.ts'
import {
  idleLabel,
  notebookKind,
  projectNotebook,
  projectService,
  projectSet,
  projectSetPod,
  setKind,
} from '../objects.ts'
import type { Shown } from '../sight.ts'

type Annotations = Readonly<Record<string, string>>
type Metadata = Partial<KubeObject['metadata']>

export const notebook = (metadata: Metadata = {}, annotations: Annotations = {}): KubeObject => ({
  ...notebookKind,
  metadata: { name: 'blue', namespace: 'team', uid: 'nb', resourceVersion: '1', annotations, ...metadata },
})

export const ownedBy = (kind: object, name: string, uid: string) => [
  { ...(kind as { apiVersion: string; kind: string }), name, uid, controller: true },
]

const template = { spec: { containers: [{ name: 'blue', image: 'jupyter:1' }] } }

/** The set that Kubeflow's controller makes; its apiVersion of a Notebook is an older one. */
export const setOf = (metadata: Metadata = {}, spec: object = {}): KubeObject => ({
  ...setKind,
  metadata: {
    ...{ name: 'blue', namespace: 'team', uid: 'set', resourceVersion: '1' },
    ownerReferences: ownedBy({ apiVersion: 'kubeflow.org/v1beta1', kind: 'Notebook' }, 'blue', 'nb'),
    ...metadata,
  },
  spec: { replicas: 1, template, ...spec },
})

export const labelledSet = (metadata: Metadata = {}, spec: object = {}): KubeObject =>
  setOf({ ownerReferences: undefined as never, labels: { [idleLabel]: 'true' }, ...metadata }, spec)

export const podOf = (metadata: Metadata = {}, spec: object = {}, status: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    ...{ name: 'blue-0', namespace: 'team', uid: 'pod', resourceVersion: '1' },
    ownerReferences: ownedBy(setKind, 'blue', 'set'),
    ...metadata,
  },
  spec: {
    containers: [
      { name: 'istio-proxy', image: 'mesh:1', ports: [{ containerPort: 15_090 }] },
      { name: 'blue', image: 'jupyter:1', ports: [{ containerPort: 9999 }] },
    ],
    ...spec,
  },
  status: {
    ...{ phase: 'Running', podIP: '10.0.0.7', startTime: '2026-01-01T00:00:00Z' },
    conditions: [{ type: 'Ready', status: 'True' }],
    ...status,
  },
})

/** A watch without a server. */
class Filled<T> extends Picture<T> implements Shown<T> {
  silence = 0

  get = (key: string) => this.cache.get(key)?.value
  values = () => this.cache.values()
  lastWordAgeMs = () => this.silence

  show(...objects: readonly KubeObject[]): void {
    for (const object of objects) this.put(seenObject(object))
  }

  drop(object: KubeObject): void {
    this.remove(seenObject(object))
  }
}

const filled = <T>(kind: string, project: (object: KubeObject) => T | undefined) =>
  new Filled<T>({ kind, project, log: silentLog }, () => {})

export const filledWatches = () => ({
  notebooks: filled('Notebook', projectNotebook),
  statefulSets: filled('StatefulSet', projectSet),
  pods: filled('Pod', projectSetPod),
  services: filled('Service', projectService),
})

export type FilledWatches = ReturnType<typeof filledWatches>
