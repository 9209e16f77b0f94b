/** Joins what sends the bills of tenants. Loaded only if the configuration wants it. */
import { type Bill, isEnd } from '../../base/bill.ts'
import { RetryLater } from '../../base/errors.ts'
import type { Listed } from '../../billing/differences.ts'
import type { OutcomeWord } from '../../billing/options.ts'
import { Sender } from '../../billing/sender.ts'
import type { BillingConfig } from '../../config/billing.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { BillingSettings } from '../../settings/billing.ts'
import { BillStore } from '../../store/bills.ts'
import { createBillingMetrics } from '../../telemetry/billing-metrics.ts'
import { type BillingWorld, entryOf, isBilled } from '../../tenants/billing.ts'
import { projectionOf } from '../../tenants/watches.ts'
import { tenantParent } from '../../tenants/words.ts'
import type { TenantWorld } from '../../tenants/world.ts'
import type { Basics } from '../basics.ts'
import type { joinLeases } from '../declared-leases.ts'
import type { Part } from '../part.ts'
import { openTable } from './bill-table.ts'

export interface BillingParts {
  readonly basics: Basics
  readonly kube: KubeClient
  readonly access: ReturnType<typeof joinLeases>
  readonly settings: BillingSettings
}

/** What the rest of the replica knows, once it is made. */
export interface BillingSight {
  readonly world: Pick<TenantWorld, 'sights' | 'unguarded' | 'isElsewhere'>
  readonly poke: (name: string) => void
}

export interface Billing {
  readonly world: BillingWorld
  /** Joins it to the rest of the replica. */
  readonly part: (sight: BillingSight) => Part
}

export function joinBilling({ basics, kube, access, settings }: BillingParts): Billing {
  const {
    clock,
    log,
    metrics: { registry },
  } = basics
  const config = basics.config.tenants.billing!
  const { connection, keys, leases } = access
  const store = new BillStore(connection, keys)
  const call = { agent: 'billing' }
  let sight: BillingSight | undefined
  const driver = settings.target.driver
  const metrics = createBillingMetrics(registry, { driver, depth: () => sender.depth })
  const sender: Sender = new Sender({
    table: openTable(settings, config, { clock, clusterUid: () => clusterUid(kube) }),
    ...{ store, leases, lease: keys.reconcileLease('billing:'), leaseTtlMs: basics.config.engine.leaseTtlMs },
    ...{ clock, log, compareMs: config.compareSeconds * 1000 },
    list: signal => listed(kube, config, signal),
    isGone: async ({ name, uid }, signal) => {
      const object = await kube.get({ ...tenantParent, name }, { ...call, signal })
      return object?.metadata.uid !== uid
    },
    isElsewhere: () => sight?.world.isElsewhere?.() ?? false,
    unguarded: () => sight?.world.unguarded(),
    onTold: name => sight?.poke(name),
    onOutcome: (bill, outcome) => {
      metrics.bills.inc({ driver, result: outcome })
      audit(basics, bill, outcome)
    },
    onFailed: reason => metrics.failures.inc({ driver, reason }),
    onCompared: result => metrics.compares.inc({ driver, result }),
  })
  const world: BillingWorld = {
    config,
    put: async entry => {
      try {
        // Where something newer was put, our watch is behind, or the cluster was restored: a compare finds out.
        if ((await store.put(entry)) === 'put') sender.wake()
      } catch (error) {
        if (error instanceof RetryLater) throw error
        // No right waits for a bill, whatever the error is.
        log.error({ err: error, tenant: entry.name }, 'a bill cannot be put')
        throw new RetryLater('a bill cannot be put', undefined, { cause: error })
      }
    },
    told: uid => sender.ledger.told(uid),
  }
  const part = (found: BillingSight) => {
    sight = found
    return partOf(sender, connection, found)
  }
  return { world, part }
}

function partOf(sender: Sender, connection: BillingParts['access']['connection'], { world }: BillingSight): Part {
  const offs: (() => void)[] = []
  return {
    start: () => {
      offs.push(
        connection.onMove(() => sender.compare()),
        world.sights.lnamespaces.on(({ type, name, value }) => {
          if (type === 'gone') sender.gone({ name, uid: value.uid })
        }),
      )
      sender.start()
    },
    stop: async () => {
      for (const off of offs.splice(0)) off()
      await sender.stop()
    },
  }
}

/** All LNamespaces as they are now, and not as a watch showed them. */
async function listed(
  kube: Pick<KubeClient, 'list'>,
  config: BillingConfig,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Listed>> {
  const project = projectionOf('lnamespaces', [])
  const { apiVersion, kind } = tenantParent
  const one = (object: Parameters<typeof project>[0]) => {
    const fact = project(object)
    // Without its status it has none yet, and its first turn tells.
    return [fact.uid, { entry: entryOf(fact, config), isBilled: isBilled(fact, false) }] as const
  }
  return new Map(await kube.list(apiVersion, kind, one, { agent: 'billing', signal }))
}

/** The usual identity of a cluster. @throws {RetryLater} while it is not known: another one would close the bills of this one */
async function clusterUid(kube: Pick<KubeClient, 'get'>): Promise<string> {
  const found = await kube.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' }, { agent: 'billing' })
  if (!found?.metadata.uid) throw new RetryLater('the namespace kube-system is not there')
  return found.metadata.uid
}

/** A line for each bill that is in the table: the same id, if its answer was lost and it was sent again. */
function audit({ auditLog }: Basics, bill: Bill, outcome: OutcomeWord): void {
  if (!auditLog || outcome === 'older' || outcome === 'closed') return
  const isRefused = outcome === 'refused'
  const version = isEnd(bill) ? 'end' : `${bill.generation}.${bill.revision}`
  auditLog.write({
    id: `${bill.uid}-${version}${isRefused ? '-refused' : ''}`,
    action: isEnd(bill) ? 'billing.close' : 'billing.write',
    result: isRefused ? 'refused' : 'succeeded',
    actor: { kind: 'controller' },
    object: { kind: 'tenant', name: bill.name },
  })
}
