/** The resource of tenants, and the labels and annotations that this program writes and believes. Pure. */
import { registerKind } from '../kube/kinds.ts'
import type { ParentKind } from '../reconcile/types.ts'

export const tenantGroup = 'gial.lblw.dev'
export const tenantParent: ParentKind = { apiVersion: `${tenantGroup}/v1beta1`, kind: 'LNamespace' }

export const rbacGroup = 'rbac.authorization.k8s.io'
export const rbacVersion = `${rbacGroup}/v1`

registerKind(tenantParent.apiVersion, tenantParent.kind, { plural: 'lnamespaces', namespaced: false })
registerKind('v1', 'LimitRange', { plural: 'limitranges', namespaced: true })
registerKind(rbacVersion, 'ClusterRole', { plural: 'clusterroles', namespaced: false })
registerKind(rbacVersion, 'ClusterRoleBinding', { plural: 'clusterrolebindings', namespaced: false })

/** Why nothing is granted while a Kubernetes version waits to be vetted. */
export const frozenWords = 'the cluster gives other rights than were vetted'

export const tenantLabels = {
  installation: 'lns.skylab/installation',
  /** The name of the LNamespace. Objects of sudoers, which several share, have none. */
  of: 'lns.skylab/of',
  /** On a Namespace: the UID of its LNamespace. A policy is shown the labels of a namespace, and not its owners. */
  uid: 'lns.skylab/uid',
  rbacType: 'gial.lblw.dev/rbac-type',
  istioRevision: 'istio.io/rev',
  podSecurity: 'pod-security.kubernetes.io/enforce',
} as const

export const tenantAnnotations = {
  /** On an LNamespace: who created it. Admission writes it, and lets nobody change it. */
  requester: 'lns.skylab/requester',
  /** On a Namespace: the UID of the LNamespace that may take it over. Only holders of `override` may write it. */
  adopt: 'lns.skylab/adopt',
  /** On an LNamespace: those groups of its requester that defaults of billing name, by lines. Admission alone writes it. */
  requesterGroups: 'lns.skylab/requester-groups',
  /** On a Namespace: its billing in effect, as JSON. */
  billing: 'lns.skylab/billing',
} as const

/** Values of `gial.lblw.dev/rbac-type`. */
export const rbacTypes = {
  user: 'developer-permissions',
  sudo: 'sudoer-permissions',
  manager: 'manager-permissions',
  group: 'sudoer-impersonator',
  self: 'self-impersonator',
} as const
