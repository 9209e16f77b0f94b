/** The kinds that apps watch: what of each is shown, and what of it is ours. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { asObject, asText, type JsonObject } from '../base/json.ts'
import { stampKeys } from '../kube/labels.ts'
import { factOf } from '../reconcile/facts.ts'
import type { Sight } from '../reconcile/sight.ts'
import type { Fact, Path } from '../reconcile/types.ts'
import { groupLabel } from './names.ts'
import { type AppPod, projectAppPod } from './pods.ts'
import { appAnnotations, appLabels, appLabelValue, appParent } from './words.ts'

export interface WatchedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly paths: readonly Path[]
  /** Only objects with these labels are shown. */
  readonly selector?: string
  /** Default: all namespaces. */
  readonly namespace?: string
  /** As `Source.made`. */
  readonly made?: boolean
}

/** Beside what we own: another's writes there are none of ours, so they are not compared. */
export interface ShownFact extends Fact {
  readonly shown: JsonObject
}

export interface PodFact extends Fact {
  readonly pod: AppPod
}

const selector = `${appLabels.app}=${appLabelValue}`
/** Selects what the apps of a group have. */
export const groupSelector = (group: string): string => `${selector},${appLabels.group}=${groupLabel(group)}`

const labels: readonly Path[] = Object.values(appLabels).map(label => ['metadata', 'labels', label])
const content: readonly Path[] = [['spec'], ...labels]

export const appWatches = {
  applications: {
    ...appParent,
    paths: [
      ...[['spec'], ['status'], ['metadata', 'generation'], ['metadata', 'finalizers']],
      ['metadata', 'creationTimestamp'],
      ...[...stampKeys, ...Object.values(appAnnotations)].map(name => ['metadata', 'annotations', name]),
    ],
  },
  deployments: { apiVersion: 'apps/v1', kind: 'Deployment', paths: content, selector, made: true },
  services: { apiVersion: 'v1', kind: 'Service', paths: content, selector, made: true },
  networkPolicies: {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
    ...{ paths: content, selector, made: true },
  },
  pods: { apiVersion: 'v1', kind: 'Pod', paths: labels, selector },
} as const satisfies Record<string, WatchedKind>

export type AppWatch = keyof typeof appWatches
export type AppSights = Readonly<Record<AppWatch, Sight>>

/** The projection of an object of a watch. */
export function projectionOf(watch: AppWatch): (object: KubeObject) => Fact {
  const { paths } = appWatches[watch]
  switch (watch) {
    case 'deployments':
      return (object): ShownFact => ({ ...factOf(object, paths), shown: statusOf(object) })
    case 'pods':
      return (object): PodFact => ({ ...factOf(object, paths), pod: projectAppPod(object) })
    default:
      return object => factOf(object, paths)
  }
}

/** What the phase goes by. */
function statusOf({ metadata, status }: KubeObject): JsonObject {
  return { generation: metadata.generation, ...asObject(status) }
}

/** The id that a pod bears, whoever made it. */
export const appOfPod = ({ owned }: Fact): string => asText(asObject(asObject(owned.metadata).labels)[appLabels.of])
