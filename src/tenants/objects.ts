/** Common parts of all wanted objects: labels, owners, and the stages in which they are written. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { isParent } from '../reconcile/facts.ts'
import { refKey, refOf } from '../reconcile/plan.ts'
import type { Fact, OwnerReference, Wanted } from '../reconcile/types.ts'
import type { Subject } from './spec.ts'
import { rbacGroup, rbacVersion, tenantLabels, tenantParent } from './words.ts'

/**
 * A binding comes after its role, not beside it: if the role is another's, a binding to it would give rights that nobody
 * here has chosen.
 */
export const stages = { namespace: 0, platform: 1, roles: 2, bindings: 3 } as const

export const ownerOf = ({ ref: { apiVersion, kind, name }, uid }: Fact): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
})

export interface Marks {
  readonly installation: string
  /** The LNamespace; undefined for what several share. */
  readonly of?: string
  readonly rbacType?: string
}

export const labelsFor = ({ installation, of, rbacType }: Marks): Readonly<Record<string, string>> => ({
  [tenantLabels.installation]: installation,
  ...(of !== undefined && { [tenantLabels.of]: of }),
  ...(rbacType !== undefined && { [tenantLabels.rbacType]: rbacType }),
})

export interface Rule {
  readonly apiGroup: string
  readonly resource: string
  readonly name: string
  readonly verbs: readonly string[]
}

export interface RoleWish {
  readonly name: string
  readonly marks: Marks
  readonly owners: readonly OwnerReference[]
  readonly rule: Rule
  readonly subjects: readonly Subject[]
}

/** A cluster role of one rule about one name, and its binding of the same name; neither if there are no subjects. */
export function roleAndBinding({ name, marks, owners, rule, subjects }: RoleWish): readonly Wanted[] {
  if (subjects.length === 0) return []
  const metadata = { name, labels: labelsFor(marks), ownerReferences: owners }
  const { apiGroup, resource, name: resourceName, verbs } = rule
  const rules = [{ apiGroups: [apiGroup], resources: [resource], resourceNames: [resourceName], verbs: [...verbs] }]
  const role: KubeObject = { apiVersion: rbacVersion, kind: 'ClusterRole', metadata, rules }
  const binding: KubeObject = {
    ...{ apiVersion: rbacVersion, kind: 'ClusterRoleBinding', metadata },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects: subjects.map(asRbac),
  }
  return [
    { object: role, stage: stages.roles, compare: 'exact' },
    { object: binding, stage: stages.bindings, compare: 'exact', immutable: [['roleRef']] },
  ]
}

/** As the server keeps it. */
export const asRbac = ({ kind, name, namespace }: Subject) =>
  kind === 'ServiceAccount' ? { kind, name, namespace } : { apiGroup: rbacGroup, kind, name }

export const isBinding = ({ kind }: { readonly kind: string }): boolean =>
  kind === 'RoleBinding' || kind === 'ClusterRoleBinding'

export const isRight = (object: { readonly kind: string }): boolean =>
  isBinding(object) || object.kind === 'ClusterRole'

/** Whether an LNamespace owns an object, whatever its UID: one of this name, or any. */
export const belongsTo = ({ owners }: Fact, tenant?: string): boolean =>
  owners.some(owner => isParent(owner, tenantParent) && (tenant === undefined || owner.name === tenant))

export const isOwnedBy = ({ owners }: Fact, parent: Fact): boolean => owners.some(({ uid }) => uid === parent.uid)

/**
 * If another's object has one of the names, no right is given at all: existing rights go, and the rest waits.
 * @param isOurs whether an object is, or may become, that of the parents
 */
export function withoutForeign(
  objects: readonly Wanted[],
  standing: readonly Fact[],
  isOurs: (fact: Fact, wish: Wanted) => boolean,
): readonly Wanted[] {
  const byRef = new Map(standing.map(fact => [refKey(fact.ref), fact]))
  const isForeign = (wish: Wanted) => {
    const fact = byRef.get(refKey(refOf(wish.object)))
    return fact !== undefined && !isOurs(fact, wish)
  }
  const foreign = objects.filter(isForeign)
  return foreign.length === 0 ? objects : objects.filter(wish => !isRight(wish.object) || foreign.includes(wish))
}
