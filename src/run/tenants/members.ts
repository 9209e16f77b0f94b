/**
 * Joins what tells processes without rights in the cluster who is in which LNamespace, and who pays for it: those that run
 * containers on machines.
 */
import { membersOf } from '../../apps/members.ts'
import type { KubeClient } from '../../kube/client.ts'
import { canonical } from '../../reconcile/merge.ts'
import type { Sight } from '../../reconcile/sight.ts'
import type { Fact } from '../../reconcile/types.ts'
import { MemberStore, type Members } from '../../store/apps/members.ts'
import { billingOf } from '../../tenants/billing.ts'
import { tenantParent } from '../../tenants/words.ts'
import type { Basics } from '../basics.ts'
import type { joinLeases } from '../declared-leases.ts'
import { memberKeeper } from '../member-table.ts'
import type { Part } from '../part.ts'

export interface TenantMemberParts {
  readonly basics: Basics
  readonly kube: Pick<KubeClient, 'get'>
  readonly access: ReturnType<typeof joinLeases>
  readonly lnamespaces: Sight
  /** Whether the watches show all. */
  readonly isKnown: () => boolean
}

/** One replica compares the table after each change of a member, by lease. */
export function joinMembers({ basics, kube, access, lnamespaces, isKnown }: TenantMemberParts): Part {
  const billing = basics.config.tenants.billing ?? { defaults: [] }
  const entryOf = (fact: Fact) => ({ ...membersOf(fact), billing: billingOf(fact, billing) })
  const { connection, keys, leases } = access
  const keeper = memberKeeper({
    ...{ basics, leases, lease: keys.reconcileLease('members:') },
    store: new MemberStore(connection, keys, keys.tenantMembers),
    wanted: () => (isKnown() ? wantedOf(lnamespaces.values(), entryOf) : undefined),
    keeps: () => false,
    isGone: async (name, uid, signal) => {
      const object = await kube.get({ ...tenantParent, name }, { agent: 'members', ...(signal && { signal }) })
      return object?.metadata.uid !== uid
    },
  })
  connection.onMove(() => keeper.compare())
  lnamespaces.on(change => {
    const before = change.type === 'put' ? change.previous : undefined
    if (!before || canonical(entryOf(before)) !== canonical(entryOf(change.value))) keeper.compare()
  })
  return keeper
}

/** Each LNamespace has an entry: of nobody, while it has no namespace or is not accepted. */
const wantedOf = (facts: Iterable<Fact>, entryOf: (fact: Fact) => Members): ReadonlyMap<string, Members> =>
  new Map([...facts].map(fact => [fact.ref.name, entryOf(fact)]))
