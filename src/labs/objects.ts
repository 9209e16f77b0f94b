/** Labels and annotations that all objects of a lab have, whatever their kind. Pure. */

import type { Identity, KubeObject } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { annotations, labels } from '../kube/labels.ts'

/** Makes an object in the namespace of a lab; `extra` adds annotations, but does not override ours. */
export type Render = (
  apiVersion: string,
  kind: string,
  name: string,
  fields: object,
  extra?: Readonly<Record<string, string>>,
) => KubeObject

export interface MarkSources {
  readonly config: Pick<Config, 'installation' | 'lab'>
  readonly identity: Pick<Identity, 'username'>
}

/** Selects the lab's pod within its namespace. */
export const podLabels = { [labels.component]: 'lab' }

/** Argo CD shows objects that it does not manage, and neither compares nor prunes them (SQR-066, "Argo CD support"). */
export function marks({ config, identity }: MarkSources) {
  return {
    labels: {
      [labels.managedBy]: 'skylab',
      ...podLabels,
      [labels.installation]: config.installation,
      [labels.argoInstance]: config.lab.application,
    },
    annotations: {
      [annotations.user]: identity.username,
      [annotations.argoCompareOptions]: 'IgnoreExtraneous',
      [annotations.argoSyncOptions]: 'Prune=false',
    },
  }
}

export function objectMaker(sources: MarkSources, namespace: string): Render {
  return (apiVersion, kind, name, fields, extra = {}) => {
    const { labels: own, annotations: ours } = marks(sources)
    return {
      apiVersion,
      kind,
      metadata: { name, namespace, labels: own, annotations: { ...extra, ...ours } },
      ...fields,
    }
  }
}

/** Objects of a lab never change; kubelets do not watch immutable ones. For ConfigMaps and Secrets. */
export const immutable = true
