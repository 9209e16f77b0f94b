/** Makes the parts of a process that serves tenants, and joins them. Nothing runs yet, and nothing of labs is loaded. */
import { failpoint } from '../../base/failpoint.ts'
import { AdmissionWatch } from '../../kube/policies/watch.ts'
import { Holding } from '../../reconcile/held.ts'
import { Reconciler } from '../../reconcile/reconciler.ts'
import type { Settings } from '../../settings/load.ts'
import { createProcessGauges } from '../../telemetry/gauges.ts'
import { forgetLabs } from '../../telemetry/metrics.ts'
import { createTenantGauges } from '../../telemetry/tenant-gauges.ts'
import { countTenants } from '../../tenants/census.ts'
import { tenantKind } from '../../tenants/kind.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { sudoerKind } from '../../tenants/sudoer-kind.ts'
import { vettedFor } from '../../tenants/vetting/vetted.ts'
import { frozenWords } from '../../tenants/words.ts'
import { type TenantWorld, tenantWorld } from '../../tenants/world.ts'
import { type Basics, type CreateTracing, makeBasics, version } from '../basics.ts'
import { joinLeases } from '../declared-leases.ts'
import { joinKube } from '../kube.ts'
import type { Part, Stage } from '../part.ts'
import { joinMembers } from './members.ts'
import { askForTenantPolicies, policyWords } from './policies.ts'
import { Vetting } from './vetting.ts'
import { joinWatches } from './watches.ts'

interface Parts {
  readonly basics: Basics
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly access: ReturnType<typeof joinLeases>
  readonly watches: ReturnType<typeof joinWatches>
  readonly policies: AdmissionWatch
  /** Undefined: the configuration wants no comparison. */
  readonly vetting: Vetting | undefined
  readonly world: TenantWorld
  /** The reconcilers, what tells others of members, and what sends bills. */
  readonly working: readonly Part[]
}

export interface TenantReplica extends Parts {
  /** A look at a tenant and at one of its users, before all that is not urgent. */
  readonly poke: (name: string, user: string) => void
  /** All running parts. */
  readonly stages: readonly Stage[]
}

/** Made before the kinds that it serves. */
type JoinBilling = typeof import('./billing.ts')['joinBilling']

/**
 * @param createTracing only if traces are sent
 * @param joinBilling only if bills are sent
 */
export function makeTenantReplica(
  settings: Settings,
  createTracing?: CreateTracing,
  joinBilling?: JoinBilling,
): TenantReplica {
  const basics = makeBasics(settings, createTracing)
  const { config, clock, log } = basics
  const tenantSettings = tenantSettingsOf(settings)
  const { kube, withoutRight } = joinKube(basics)
  const access = joinLeases(basics)
  const watches = joinWatches(basics, kube, tenantSettings)
  let isElsewhere = false
  const policies = new AdmissionWatch({
    ask: async signal => {
      const answer = await askForTenantPolicies(kube, tenantSettings, signal)
      const before = isElsewhere
      isElsewhere = answer.elsewhere ?? false
      if (isElsewhere !== before) for (const reconciler of reconcilers) reconciler.pokeAll()
      return answer
    },
    words: policyWords,
    ...{ clock, log },
    intervalMs: config.tenants.policyIntervalSeconds * 1000,
    required: config.kubernetes.requirePolicy,
    onAnswer: () => changed(),
  })
  withoutRight.add(() => policies.wake())
  // The reason, which may differ at each check, is in the log and at /readyz: statuses would be written again and again.
  const words = (refusal: string | undefined) =>
    refusal && (policies.active ? policyWords.refuses : policyWords.notActive)
  const vetting = joinVetting(settings, basics, kube, () => changed())
  const frozen = () => (vetting?.frozen ? frozenWords : undefined)
  const unguarded = () => words(policies.refusal) ?? frozen()
  const longUnguarded = () => words(policies.lastingRefusal) ?? frozen()
  const world = tenantWorld(watches.sights, tenantSettings, unguarded, longUnguarded)
  const common = {
    ...{ kube, clock, log, failpoint, leases: access.leases, metrics: basics.metrics, room: config.tenants.room },
    ...{ holding: new Holding(clock), leaseKey: (name: string) => access.keys.reconcileLease(name) },
    ...{ lockKey: (name: string) => access.keys.reconcileLock(name), leaseTtlMs: config.engine.leaseTtlMs },
  }
  const billing = joinBilling && settings.billing && joinBilling({ basics, kube, access, settings: settings.billing })
  const served: TenantWorld = { ...world, isElsewhere: () => isElsewhere, billing: billing?.world }
  const tenants = new Reconciler({ kind: tenantKind(served), ...common })
  const sudoers = new Reconciler({ kind: sudoerKind(served), ...common })
  const reconcilers = [tenants, sudoers]
  const poke = (name: string, user: string) => {
    tenants.poke(name, true)
    sudoers.poke(user, true)
  }
  const guarding = () => [unguarded(), longUnguarded()].join()
  let before = guarding()
  const changed = () => {
    if (guarding() === before) return
    before = guarding()
    for (const reconciler of reconcilers) reconciler.pokeAll()
  }
  const bills = billing?.part({ world: served, poke: name => tenants.poke(name) })
  const { lnamespaces } = watches.sights
  const members = joinMembers({ basics, kube, access, lnamespaces, isKnown: () => watches.group.ready() })
  const working = [...reconcilers, members, ...(bills ? [bills] : [])]
  const parts = { basics, kube, access, watches, policies, vetting, world: served, working }
  addGauges(parts)
  return { ...parts, poke, stages: stagesOf(parts) }
}

const tenantSettingsOf = ({ config, namespace }: Settings): TenantSettings => ({
  installation: config.installation,
  ownNamespace: namespace,
  labPrefix: config.lab.namespacePrefix,
  tenants: config.tenants,
})

function joinVetting(
  { config, vetted }: Settings,
  { clock, log }: Basics,
  kube: Parts['kube'],
  onChange: () => void,
): Vetting | undefined {
  const { onUnvetted, intervalSeconds } = config.tenants.vetting
  if (onUnvetted === 'off') return undefined
  const times = { clock, log, intervalMs: intervalSeconds * 1000 }
  return new Vetting({ kube, vettedFor: vettedFor(vetted), freezes: onUnvetted === 'freeze', ...times, onChange })
}

/** All parts, in the order in which they start and stop; they close in the reverse order. */
function stagesOf({ basics, kube, access, watches, policies, vetting, working }: Parts): readonly Stage[] {
  const { connection, leases } = access
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    {
      when: 'first',
      parts: [
        { start: () => watches.group.start(), close: () => watches.group.stop() },
        ...[policies, ...(vetting ? [vetting] : [])],
        { close: () => kube.close() },
        { close: () => basics.tracing.close() },
        { close: () => leases.close() },
      ],
    },
    // Its rights are known then: a status that tells of missing policies would else be written at each start.
    { when: 'reached', parts: working },
  ]
}

function addGauges({ basics, kube, access, watches, policies, vetting, world }: Parts): void {
  const { registry } = basics.metrics
  forgetLabs(registry)
  createProcessGauges(registry, {
    version,
    run: basics.config.run.join(),
    redisConnected: () => access.connection.connected(),
    watchSilenceMs: () => watches.group.lastWordAgeMs(),
    kubernetesLoad: () => kube.load(),
  })
  createTenantGauges(registry, {
    tenants: () => countTenants(world, basics.clock.wallMs()),
    policyActive: () => policies.active,
    vetDifferences: () => vetting?.differences,
  })
}
