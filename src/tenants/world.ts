/** The world of the kinds of tenants: the watches, and what is handed in. Pure. */
import { keyOf } from '../kube/cache.ts'
import type { Fact } from '../reconcile/types.ts'
import type { BillingWorld } from './billing.ts'
import { grantsIn, runningGrants } from './grants.ts'
import { sudoGroup } from './names.ts'
import { belongsTo, isOwnedBy } from './objects.ts'
import { checked } from './rules.ts'
import {
  type Checked,
  createdAt,
  nameOf,
  type Refusal,
  requesterOf,
  type TenantSettings,
  type TenantSpec,
} from './spec.ts'
import { groupTenants, type TenantSights } from './watches.ts'

export interface TenantWorld {
  readonly sights: TenantSights
  readonly settings: TenantSettings
  /** Why nothing may be granted or loosened: admission policies are missing. Undefined if all of them are in force. */
  readonly unguarded: () => string | undefined
  /** The same, once it lasts. */
  readonly longUnguarded: () => string | undefined
  /** LNamespaces by the user who asked for them. */
  readonly byRequester: (user: string) => readonly Fact[]
  /** LNamespaces by the users whom they name for sudo, whether or not these have it now. */
  readonly bySudoer: (user: string) => readonly Fact[]
  /** Bindings of anybody by the tenants whose groups they name. */
  readonly naming: (tenant: string) => readonly Fact[]
  /** Whether another installation serves the tenants of the cluster: then nothing at all is written. */
  readonly isElsewhere?: () => boolean
  /** Where bills are sent. */
  readonly billing?: BillingWorld | undefined
}

export function tenantWorld(
  sights: TenantSights,
  settings: TenantSettings,
  unguarded: () => string | undefined,
  longUnguarded = unguarded,
): TenantWorld {
  const inNamespaces = sights.roleBindings.index(groupTenants)
  const inCluster = sights.clusterRoleBindings.index(groupTenants)
  return {
    ...{ sights, settings, unguarded, longUnguarded },
    byRequester: sights.lnamespaces.index(fact => [requesterOf(fact)]),
    bySudoer: sights.lnamespaces.index(fact => sudoUsers(fact, settings)),
    naming: tenant => [...inNamespaces(tenant), ...inCluster(tenant)],
  }
}

/** Users whom an LNamespace names for sudo: in its list, or in a grant, whether or not that runs. */
export function sudoUsers(fact: Fact, settings: TenantSettings): readonly string[] {
  const check = checked(fact, settings)
  if ('refusal' in check) return []
  const { sudoers, eligible } = check.spec
  return [...new Set([...sudoers, ...(eligible.length > 0 ? grantsIn(fact).map(({ user }) => user) : [])])]
}

/** Whether a user has sudo by this LNamespace. */
export const hasSudo = (user: string, fact: Fact, spec: TenantSpec, nowMs: number): boolean =>
  spec.sudoers.includes(user) || runningGrants(fact, spec, nowMs).some(grant => grant.user === user)

/** The spec of an LNamespace, or the reason why it gets nothing: by itself, or by other objects. */
export function admitted(fact: Fact, world: TenantWorld): Checked {
  const check = checked(fact, world.settings)
  if ('refusal' in check) return check
  const refusal = tooMany(fact, world) ?? inherited(fact, world)
  return refusal ? { refusal } : check
}

/** The Namespace of an LNamespace; undefined if there is none, or it is not its own. */
export function ownNamespace(parent: Fact, { sights }: TenantWorld): Fact | undefined {
  const fact = sights.namespaces.get(nameOf(parent))
  return fact && isOwnedBy(fact, parent) ? fact : undefined
}

/** A limit that is lowered takes nothing away: those that have a Namespace count first, then the oldest. */
function tooMany(fact: Fact, world: TenantWorld): Refusal | undefined {
  const { maxPerUser, unlimitedRequesters } = world.settings.tenants
  const requester = requesterOf(fact)
  if (requester === '' || unlimitedRequesters.includes(requester) || ownNamespace(fact, world)) return undefined
  const isBefore = (other: Fact) =>
    other.uid !== fact.uid && (ownNamespace(other, world) !== undefined || textOf(other) < textOf(fact))
  const before = world.byRequester(requester).filter(isBefore).length
  if (before < maxPerUser) return undefined
  return {
    reason: 'TooMany',
    message: `whoever asked for it has ${before} LNamespaces; at most ${maxPerUser} get a namespace`,
  }
}

const textOf = (fact: Fact): string => `${createdAt(fact)} ${fact.uid}`

/** A name would inherit what somebody gave to the group of its predecessor. For a living tenant that is its own affair. */
function inherited(fact: Fact, world: TenantWorld): Refusal | undefined {
  const name = nameOf(fact)
  const naming = world.naming(name)
  const foreign = naming.filter(binding => !belongsTo(binding, name))
  const first = foreign.map(({ ref }) => `${ref.kind} ${keyOf(ref.namespace, ref.name)}`).sort()[0]
  if (first === undefined || hasRights(fact, world)) return undefined
  const more = foreign.length > 1 ? ` and ${foreign.length - 1} more` : ''
  return { reason: 'Conflict', message: `${first}${more} gives rights to the group ${sudoGroup(name)} already` }
}

/** Whether it was granted something before: a binding of its own names its group in any case. */
const hasRights = (fact: Fact, { naming }: TenantWorld): boolean =>
  naming(nameOf(fact)).some(binding => isOwnedBy(binding, fact) && !binding.deleting)
