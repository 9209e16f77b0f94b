/** The resource of apps, and the labels and annotations that this program writes and believes. Pure. */
import { registerKind } from '../kube/kinds.ts'
import { appPods } from '../kube/labels.ts'
import type { ParentKind } from '../reconcile/types.ts'

export const appGroup = 'primehub.io'
export const appParent: ParentKind = { apiVersion: `${appGroup}/v1alpha1`, kind: 'PhApplication' }

registerKind(appParent.apiVersion, appParent.kind, { plural: 'phapplications', namespaced: true })
registerKind('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })
registerKind('apps/v1', 'ReplicaSet', { plural: 'replicasets', namespaced: true })

/** On a Deployment, a Service, a NetworkPolicy and a pod of an app (seed 001, "Controller"). */
export const appLabels = {
  /** Always `primehub-app`. */
  app: 'app',
  /** The id of the app. */
  of: 'primehub.io/phapplication',
  /** The group, escaped. A pod with it reaches the apps of that group in its namespace. */
  group: 'primehub.io/group',
} as const

export const appLabelValue = appPods.app

/**
 * On the Namespace of a group, by an administrator of the cluster. The policy `skylab-apps` admits objects of apps there, and in
 * namespaces of tenants.
 */
export const groupMark = { 'skylab/apps': 'true' } as const

/** On a PhApplication. People write them. */
export const appAnnotations = {
  /** `recreate`: two pods of the app never run at once. */
  strategy: 'user.skylab/strategy',
  /** `true`: the app sees the public Host. */
  passHost: 'user.skylab/pass-host',
  /** `true`: the app sees an Authorization that the identity source does not know. */
  passAuthorization: 'user.skylab/pass-authorization',
  /** Seed 001: the template that it was made of, as JSON. REST reads it. */
  template: 'phapplication.primehub.io/template',
  /** Seed 001: the wish by which it was made, as JSON. REST writes it after a change. */
  templateData: 'phapplication.primehub.io/template-data',
} as const

/** Variables whose names begin so are the platform's. */
export const presetPrefix = 'PRIMEHUB_'

/** Volumes whose names begin so are the platform's. */
export const ownVolumePrefix = 'primehub-'
