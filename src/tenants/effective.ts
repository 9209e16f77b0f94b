/** Whether the API server lets a user impersonate a tenant's group, by the objects that stand. Pure. */
import { asObjects, asText } from '../base/json.ts'
import type { Fact } from '../reconcile/types.ts'
import { selfName, sudoName } from './names.ts'
import { isOwnedBy } from './objects.ts'
import { nameOf } from './spec.ts'
import type { TenantWorld } from './world.ts'

/** The users whom the binding of the group names. */
export function boundUsers(of: Fact, { sights }: TenantWorld): readonly string[] {
  const binding = sights.clusterRoleBindings.get(sudoName(nameOf(of)))
  return binding && isOwnedBy(binding, of) ? asObjects(binding.owned.subjects).map(({ name }) => asText(name)) : []
}

/** Whether a user can impersonate himself by this LNamespace. The object is written by another key, and may be another's. */
export function mayImpersonate(user: string, of: Fact, { sights }: TenantWorld): boolean {
  const name = selfName(user)
  const facts = [sights.clusterRoles.get(name), sights.clusterRoleBindings.get(name)]
  return facts.every(fact => fact !== undefined && isOwnedBy(fact, of))
}

export const hasEffectiveSudo = (user: string, of: Fact, world: TenantWorld): boolean =>
  boundUsers(of, world).includes(user) && mayImpersonate(user, of, world)
