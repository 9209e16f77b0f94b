/** The kinds that tenants watch: what of each is shown, and what of it is ours. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { asObjects, asText } from '../base/json.ts'
import { factOf } from '../reconcile/facts.ts'
import type { Sight } from '../reconcile/sight.ts'
import type { Fact, Path } from '../reconcile/types.ts'
import { developerName, sudoerName, tenantOfGroup, tenantOfName, userOfName } from './names.ts'
import { rbacVersion, tenantAnnotations, tenantLabels, tenantParent } from './words.ts'

export interface WatchedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly paths: readonly Path[]
  readonly grants?: readonly Path[]
  /** Whether only objects with the label of the installation are shown. */
  readonly labelled: boolean
}

const ourLabels: readonly Path[] = [tenantLabels.installation, tenantLabels.of, tenantLabels.rbacType].map(label => [
  'metadata',
  'labels',
  label,
])
const content = [['spec'], ...ourLabels]
const binding = [['subjects'], ['roleRef'], ...ourLabels]
const subjects = [['subjects']]

export const tenantWatches = {
  lnamespaces: {
    ...tenantParent,
    paths: [
      ...[['spec'], ['status'], ['metadata', 'generation'], ['metadata', 'finalizers']],
      ['metadata', 'creationTimestamp'],
      ['metadata', 'annotations', tenantAnnotations.requester],
      ['metadata', 'annotations', tenantAnnotations.requesterGroups],
    ],
    labelled: false,
  },
  namespaces: {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    paths: [
      ['metadata', 'labels'],
      ['metadata', 'annotations', tenantAnnotations.adopt],
      ['metadata', 'annotations', tenantAnnotations.billing],
    ],
    labelled: true,
  },
  quotas: { apiVersion: 'v1', kind: 'ResourceQuota', paths: content, labelled: true },
  limitRanges: { apiVersion: 'v1', kind: 'LimitRange', paths: content, labelled: true },
  networkPolicies: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', paths: content, labelled: true },
  clusterRoles: {
    ...{ apiVersion: rbacVersion, kind: 'ClusterRole', paths: [['rules'], ['aggregationRule'], ...ourLabels] },
    ...{ grants: [['rules']], labelled: true },
  },
  // Those of others too: before the first grant of a tenant none of them may name its group.
  roleBindings: { apiVersion: rbacVersion, kind: 'RoleBinding', paths: binding, grants: subjects, labelled: false },
  clusterRoleBindings: {
    ...{ apiVersion: rbacVersion, kind: 'ClusterRoleBinding', paths: binding, grants: subjects, labelled: false },
  },
} as const satisfies Record<string, WatchedKind>

export type TenantWatch = keyof typeof tenantWatches
export type TenantSights = Readonly<Record<TenantWatch, Sight>>

/**
 * The projection of an object of a watch.
 * @param labelPrefixes of the labels of a Namespace that tenants may set
 */
export function projectionOf(watch: TenantWatch, labelPrefixes: readonly string[]): (object: KubeObject) => Fact {
  const { paths } = tenantWatches[watch]
  const whole = (object: KubeObject) => factOf(object, paths)
  switch (watch) {
    case 'namespaces':
      return object => withOurLabels(whole(object), labelPrefixes)
    case 'roleBindings':
    case 'clusterRoleBindings':
      return object => (hasOurName(object) ? whole(object) : naming(object))
    default:
      return whole
  }
}

/** A Namespace with those labels alone that are ours to set: others may set more. */
function withOurLabels(fact: Fact, prefixes: readonly string[]): Fact {
  const { labels, ...metadata } = (fact.owned.metadata ?? {}) as { readonly labels?: Readonly<Record<string, string>> }
  const isOurs = (key: string) =>
    namespaceLabels.has(key) || [...believed, ...prefixes].some(start => key.startsWith(start))
  const kept = Object.fromEntries(Object.entries(labels ?? {}).filter(([key]) => isOurs(key)))
  return { ...fact, owned: { ...fact.owned, metadata: { ...metadata, labels: kept } } }
}

const namespaceLabels: ReadonlySet<string> = new Set([tenantLabels.istioRevision, tenantLabels.rbacType])
/** Labels of a tenant's Namespace that begin so are ours: a version of Pod Security would loosen it too. */
const believed = ['lns.skylab/', 'pod-security.kubernetes.io/']

function hasOurName({ metadata: { name, namespace } }: KubeObject): boolean {
  if (namespace !== undefined) return name === developerName || name === sudoerName
  return tenantOfName(name) !== undefined || userOfName(name) !== undefined
}

/** Of another's binding: the groups of tenants that it names. */
function naming(object: KubeObject): Fact {
  const groups = asObjects(object.subjects).filter(isTenantGroup)
  return { ...factOf(object, []), owned: groups.length === 0 ? {} : { subjects: groups } }
}

const isTenantGroup = ({ kind, name }: Readonly<Record<string, unknown>>): boolean =>
  kind === 'Group' && tenantOfGroup(asText(name)) !== undefined

/** The tenants whose groups a binding names. */
export const groupTenants = ({ owned }: Fact): readonly string[] =>
  asObjects(owned.subjects)
    .filter(isTenantGroup)
    .map(({ name }) => tenantOfGroup(asText(name))!)
