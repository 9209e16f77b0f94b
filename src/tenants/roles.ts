/** The roles of a person in a tenant, by its LNamespace alone. Pure. */
import type { Fact } from '../reconcile/types.ts'
import { checked } from './rules.ts'
import type { Subject, TenantSettings } from './spec.ts'
import { hasSudo } from './world.ts'

/** Somebody as the cluster knows him. */
export interface Somebody {
  /** That of a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`. */
  readonly username: string
  readonly groups: readonly string[]
}

export interface Roles {
  readonly isUser: boolean
  readonly isManager: boolean
  /** By the list, or by a grant that runs. */
  readonly isSudoer: boolean
  /** May ask for sudo with an end. */
  readonly isEligible: boolean
  /** Uses the namespace: users and sudoers. */
  readonly isMember: boolean
}

const none: Roles = { isUser: false, isManager: false, isSudoer: false, isEligible: false, isMember: false }

export function rolesOf(fact: Fact | undefined, somebody: Somebody, settings: TenantSettings, nowMs: number): Roles {
  if (!fact || fact.deleting) return none
  const check = checked(fact, settings)
  if ('refusal' in check) return none
  const { users, managers, eligible } = check.spec
  const isIn = (subjects: readonly Subject[]) => subjects.some(subject => isMeant(subject, somebody))
  const isUser = isIn(users)
  const isSudoer = hasSudo(somebody.username, fact, check.spec, nowMs)
  return { isUser, isManager: isIn(managers), isSudoer, isEligible: isIn(eligible), isMember: isUser || isSudoer }
}

/** The entry by which somebody may ask for sudo; one that names him alone comes first. */
export function eligibleAs(eligible: readonly Subject[], somebody: Somebody): Subject | undefined {
  const meant = eligible.filter(subject => isMeant(subject, somebody))
  return meant.find(({ kind }) => kind === 'User') ?? meant.find(({ kind }) => kind === 'Group')
}

function isMeant({ kind, name, namespace }: Subject, { username, groups }: Somebody): boolean {
  if (kind === 'Group') return groups.includes(name)
  return username === (kind === 'User' ? name : `system:serviceaccount:${namespace}:${name}`)
}
