/** The part of Kubeflow's custom resource that matters here: any spec, and a status of its own. Written after its definition. */
import type { KubeObject } from '../../src/base/domain.ts'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const v1 = {
  ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
}

export const notebookCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'notebooks.kubeflow.org' },
  spec: {
    group: 'kubeflow.org',
    scope: 'Namespaced',
    names: { plural: 'notebooks', singular: 'notebook', kind: 'Notebook' },
    versions: [v1],
  },
} as const satisfies KubeObject
