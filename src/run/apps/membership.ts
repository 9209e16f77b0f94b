/** Decides who is a member of a group, as gateways do: an LNamespace lists its members; else the identity decides. */
import type { IsMember } from '../../appcontrol/sights.ts'
import { hasNamespace, mayBeGroup, membersOf } from '../../apps/members.ts'
import type { AppsConfig } from '../../config/apps.ts'
import type { RestConfig } from '../../config/tenants.ts'
import type { Fact } from '../../reconcile/types.ts'
import { somebodyOf } from '../../sudo/people.ts'

export interface MembershipOptions {
  /** `apps.groups` */
  readonly groups: AppsConfig['groups']
  /** `tenants.rest`: how people are called in the cluster. */
  readonly names: RestConfig
  /** The LNamespace of this name. */
  readonly tenant: (name: string) => Fact | undefined
}

export function membership({ groups, names, tenant }: MembershipOptions): IsMember {
  return (caller, group) => {
    const fact = mayBeGroup(group, groups) ? tenant(group) : undefined
    if (!fact || !hasNamespace(fact)) return caller.groups.some(({ name }) => name === group)
    const somebody = somebodyOf(caller, names)
    if (!somebody) return false
    const members = membersOf(fact)
    return members.users.includes(somebody.username) || somebody.groups.some(each => members.groups.includes(each))
  }
}
