/**
 * Joins what tells processes without rights in the cluster who is in which LNamespace, and who pays for it: those that run
 * containers on machines.
 */

import { membersOf } from '../../apps/members.ts'
import { canonical } from '../../base/canonical.ts'
import { Later } from '../../base/later.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Leases } from '../../leases/leases.ts'
import type { Sight } from '../../reconcile/sight.ts'
import type { Fact } from '../../reconcile/types.ts'
import type { TableConnection } from '../../store/apps/entries.ts'
import { MemberStore, type Members } from '../../store/apps/members.ts'
import type { Connection } from '../../store/connection.ts'
import { billingOf } from '../../tenants/billing.ts'
import { tenantParent } from '../../tenants/words.ts'
import type { Basics } from '../basics.ts'
import type { joinLeases } from '../declared-leases.ts'
import { memberKeeper } from '../member-table.ts'
import type { Part } from '../part.ts'

export interface TenantMemberParts {
  readonly basics: Pick<Basics, 'clock' | 'log' | 'config'>
  readonly kube: Pick<KubeClient, 'get'>
  readonly access: Pick<ReturnType<typeof joinLeases>, 'keys'> & {
    readonly connection: TableConnection & Pick<Connection, 'onMove'>
    readonly leases: Pick<Leases, 'acquireTask'>
  }
  readonly lnamespaces: Pick<Sight, 'values' | 'on'>
  /** Whether the watches show all. */
  readonly isKnown: () => boolean
}

/** Edits of so long are one compare: it reads the whole table, and an editor of one LNamespace may write again and again. */
const gatherMs = 500

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
  const later = new Later(basics.clock)
  let isDue = false
  const compare = () => {
    isDue = false
    keeper.compare()
  }
  connection.onMove(compare)
  lnamespaces.on(change => {
    const before = change.type === 'put' ? change.previous : undefined
    if (before && canonical(entryOf(before)) === canonical(entryOf(change.value))) return
    if (!isDue) later.after(gatherMs, compare)
    isDue = true
  })
  const stop = async () => {
    await later.stop()
    await keeper.stop()
  }
  return { start: () => keeper.start(), stop }
}

/** Each LNamespace has an entry: of nobody, while it has no namespace or is not accepted. */
const wantedOf = (facts: Iterable<Fact>, entryOf: (fact: Fact) => Members): ReadonlyMap<string, Members> =>
  new Map([...facts].map(fact => [fact.ref.name, entryOf(fact)]))
