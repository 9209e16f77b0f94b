/** Makes the parts of a process that serves containers on machines, and joins them. Nothing runs yet; it knows no Kubernetes. */
import type { Driver } from '../../clouds/driver.ts'
import { typesOf } from '../../dispatch/configured.ts'
import { defaultTenant, type MachineBrief } from '../../dispatch/container.ts'
import { tagNames } from '../../dispatch/tags.ts'
import type { Cloud } from '../../machines/cloud.ts'
import { Throttles } from '../../pool/throttle.ts'
import type { Settings } from '../../settings/load.ts'
import { createCostGauge } from '../../telemetry/dispatch-cost.ts'
import { createKeptGauges } from '../../telemetry/dispatch-kept.ts'
import { type Basics, type CreateTracing, makeBasics } from '../basics.ts'
import type { Part, Stage } from '../part.ts'
import { addProcessGauges } from '../process-gauges.ts'
import { groupingOf, makeDriver } from './cloud.ts'
import { joinKeepers } from './keepers.ts'
import { joinPool } from './pool.ts'
import { joinDispatchRest } from './rest.ts'
import { addDispatchGauges, joinSight } from './sight.ts'
import { joinDispatchStore } from './store.ts'
import { joinTenants } from './tenants.ts'

export type DispatchReplica = Awaited<ReturnType<typeof makeDispatchReplica>>

/**
 * @param createTracing only if traces are sent
 * @param createDriver of the configuration, by default
 */
export async function makeDispatchReplica(
  settings: Settings,
  createTracing?: CreateTracing,
  createDriver: (basics: Basics) => Promise<Driver> = makeDriver,
) {
  const basics = makeBasics(settings, createTracing)
  const { config, clock } = basics
  const store = joinDispatchStore(basics, {
    onComparing: () => pool.comparer.wake(),
    // In no words of the cloud: they may name accounts and files.
    whyComparing: () => (pool.comparer.trouble === undefined ? undefined : 'the cloud cannot be compared now'),
  })
  const driver = await createDriver(basics)
  const types = typesOf(config.dispatch!, groupingOf(config.dispatch!))
  const throttles = new Throttles({
    ...{ store: store.scheduling, machines: store.machines, clock },
    groupOf: type => types.get(type)?.group ?? type,
    perSecond: config.dispatch!.CloudVMs.MaxCloudOpsPerSecond,
  })
  const sight = joinSight(basics)
  const { tenancy, payers } = joinTenants(basics, store.connection)
  const keepers = joinKeepers(basics, store, { driver, throttles, types, sight, payers })
  const { cloud, kind } = keepers
  const arvados = config.dispatch!.queue.arvados && (await import('./arvados.ts')).joinArvados(basics, store, types)
  const pool = joinPool(basics, store, { cloud, types, sight, payers, overloadedMs: arvados?.overloadedMs })
  addProcessGauges(basics, store.connection)
  addDispatchGauges(basics, store, sight, { types, owned: () => kind.engine.size, scheduler: pool.scheduler })
  createKeptGauges(basics.metrics.registry, () => store.containers.counts())
  createCostGauge(basics.metrics.registry, {
    machines: () => store.machines.list(),
    types: new Set(types.keys()),
    tenants: new Set([defaultTenant, ...Object.keys(config.dispatch!.tenants)]),
  })
  const whenTagged = tagger(basics, cloud)
  const rest = joinDispatchRest(basics, { ...store, tenancy, types, dispatchMetrics: sight.metrics, whenTagged })
  const amounts = config.dispatch!.billAmounts && (await import('./amounts.ts')).joinAmounts(basics, store)
  const more = [...(arvados ? [arvados.part] : []), ...(amounts ? [amounts] : [])]
  const stages = stagesOf(basics, store, { keepers, pool, more, closeDriver: () => driver.close() })
  return { basics, store, keepers, pool, rest, stages }
}

const tagMs = 5_000

/** An operator sees in the cloud's own pages what he asked for; the sweep writes what this could not. */
function tagger({ config, log }: Basics, cloud: Cloud): (machine: MachineBrief) => Promise<boolean> {
  const { idleBehavior } = tagNames(config.dispatch!.CloudVMs.TagKeyPrefix)
  return async machine => {
    if (machine.instance === '') return false
    const call = { signal: AbortSignal.timeout(tagMs), agent: 'management' }
    const tags = { [idleBehavior]: machine.idleBehavior }
    try {
      await cloud.call('setTags', call, driver => driver.setTags(machine.instance, tags, call))
      return true
    } catch (err) {
      log.warn({ err, instance: machine.instance }, 'the behavior of a machine is not in its tags yet')
      return false
    }
  }
}

interface Staged {
  readonly keepers: ReturnType<typeof joinKeepers>
  readonly pool: ReturnType<typeof joinPool>
  readonly more: readonly Part[]
  readonly closeDriver: () => Promise<void>
}

/** All parts, in the order in which they start; they close in the reverse order. */
function stagesOf(
  { tracing }: Basics,
  { connection, bell }: Awaited<ReturnType<typeof joinDispatchStore>>,
  { keepers: { kind, close }, pool, more, closeDriver }: Staged,
): readonly Stage[] {
  const { scheduler, sweeper, comparer } = pool
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    { when: 'first', parts: [{ close: () => tracing.close() }, { close: closeDriver }] },
    { when: 'connected', parts: [{ start: () => void bell.listen(), close: () => bell.close() }] },
    { when: 'connected', parts: [{ close: () => kind.leases.close() }] },
    { when: 'connected', parts: [{ start: () => comparer.start(), stop: () => comparer.stop() }] },
    {
      when: 'permitted',
      parts: [
        { start: () => kind.engine.start(), stop: () => kind.engine.drain(), close },
        { start: () => scheduler.start(), stop: () => scheduler.stop(), close: pool.close },
        { start: () => sweeper.start(), stop: () => sweeper.stop() },
        ...more,
      ],
    },
  ]
}
