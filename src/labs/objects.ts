/** How the objects of a lab are known again: what each of them bears, whatever its kind. Pure. */

import type { Identity, KubeObject } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { annotations, labels } from '../kube/labels.ts'

/** Makes an object in the namespace of a lab; `extra` are annotations beside ours, which win. */
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

/** Argo CD shows what it does not manage, and neither compares nor prunes it (SQR-066, "Argo CD support"). */
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

/** Nothing of a lab is ever changed; said so, kubelets need not watch it. For ConfigMaps and Secrets. */
export const immutable = true
