/** The objects that give rights to the people of a tenant, and to a sudoer. Pure. */
import type { Fact, OwnerReference, Wanted } from '../reconcile/types.ts'
import { developerName, editName, selfName, sudoerName, sudoGroup, sudoName } from './names.ts'
import { asRbac, labelsFor, ownerOf, roleAndBinding, stages } from './objects.ts'
import { inOrder, type Subject, type TenantSpec } from './spec.ts'
import { rbacGroup, rbacTypes, rbacVersion, tenantGroup } from './words.ts'

const users = (names: readonly string[]): readonly Subject[] => names.map(name => ({ kind: 'User', name }))

/**
 * The rights of one tenant.
 * @param granted users whose sudo has an end that is still to come
 */
export function tenantRights(
  parent: Fact,
  { users: developers, managers, sudoers }: TenantSpec,
  granted: readonly string[],
  installation: string,
): readonly Wanted[] {
  const { name } = parent.ref
  const owners = [ownerOf(parent)]
  const group: Subject = { kind: 'Group', name: sudoGroup(name) }
  const marks = (rbacType: string) => ({ installation, of: name, rbacType })
  const inNamespace = (binding: string, role: string, rbacType: string, subjects: readonly Subject[]) =>
    subjects.length === 0
      ? []
      : [roleBinding({ binding, role, subjects, labels: labelsFor(marks(rbacType)), name, owners })]
  return [
    ...inNamespace(developerName, 'admin', rbacTypes.user, developers),
    ...inNamespace(sudoerName, 'cluster-admin', rbacTypes.sudo, [group]),
    ...roleAndBinding({
      ...{ name: editName(name), marks: marks(rbacTypes.manager), owners },
      rule: { apiGroup: tenantGroup, resource: 'lnamespaces', name, verbs: ['get', 'update', 'patch', 'delete'] },
      subjects: inOrder([...managers, group]),
    }),
    ...roleAndBinding({
      ...{ name: sudoName(name), marks: marks(rbacTypes.group), owners },
      rule: { apiGroup: '', resource: 'groups', name: group.name, verbs: ['impersonate'] },
      subjects: inOrder(users([...sudoers, ...granted])),
    }),
  ]
}

/** The right of a user to impersonate himself, which impersonating a group takes too. */
export function selfRights(user: string, parents: readonly Fact[], installation: string): readonly Wanted[] {
  return roleAndBinding({
    ...{ name: selfName(user), marks: { installation, rbacType: rbacTypes.self }, owners: parents.map(ownerOf) },
    rule: { apiGroup: '', resource: 'users', name: user, verbs: ['impersonate'] },
    subjects: parents.length === 0 ? [] : users([user]),
  })
}

interface RoleBindingWish {
  readonly binding: string
  readonly role: string
  readonly subjects: readonly Subject[]
  readonly labels: Readonly<Record<string, string>>
  /** The tenant and its namespace. */
  readonly name: string
  readonly owners: readonly OwnerReference[]
}

const roleBinding = ({ binding, role, subjects, labels, name, owners }: RoleBindingWish): Wanted => ({
  object: {
    ...{ apiVersion: rbacVersion, kind: 'RoleBinding' },
    metadata: { name: binding, namespace: name, labels, ownerReferences: owners },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: subjects.map(asRbac),
  },
  ...{ stage: stages.bindings, compare: 'exact', immutable: [['roleRef']] },
})
