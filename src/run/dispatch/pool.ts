/** Joins what one replica at a time does for all machines: the scheduler, the sweep, and the compare with the cloud. */
import { failpoint } from '../../base/failpoint.ts'
import type { OfferedType } from '../../dispatch/configured.ts'
import { rulesOf } from '../../dispatch/configured.ts'
import { instanceSetIds, tagNames } from '../../dispatch/tags.ts'
import type { Cloud } from '../../machines/cloud.ts'
import { Comparer } from '../../pool/compare.ts'
import type { Payers } from '../../pool/payers.ts'
import { Scheduler } from '../../pool/scheduler.ts'
import { Sweeper } from '../../pool/sweep.ts'
import { Tagging } from '../../pool/tagging.ts'
import type { Basics } from '../basics.ts'
import { lagMs, longestCallMs } from './cloud.ts'
import type { DispatchSight } from './sight.ts'
import type { DispatchStore } from './store.ts'

export interface PoolShared {
  readonly cloud: Cloud
  readonly types: ReadonlyMap<string, OfferedType>
  readonly sight: DispatchSight
  readonly payers: Payers | undefined
  /** When what runs was too much for Arvados, if its queue is mirrored. */
  readonly overloadedMs: (() => Promise<number>) | undefined
}

/** The longest life of a machine: ten years. Rules end it, never this. */
const lifeMs = 315_360_000_000
export function joinPool(
  basics: Basics,
  store: DispatchStore,
  { cloud, types, sight, payers, overloadedMs }: PoolShared,
) {
  const { config, settings, clock, log } = basics
  const dispatch = config.dispatch!
  const { CloudVMs } = dispatch
  const { token, previousTokens } = settings.dispatch!
  const { keys, leases, machines, sealer } = store
  const names = tagNames(CloudVMs.TagKeyPrefix)
  const sets = instanceSetIds(token, previousTokens)
  const tagging = new Tagging({ names, sets, types, secrets: CloudVMs.TagSecret, payers })
  const common = {
    cloud,
    leases,
    clock,
    log,
    machines,
    tagging,
    sealer,
    lifeMs,
    patienceMs: 2 * longestCallMs,
    failpoint,
  }
  const scheduler = new Scheduler({
    ...{ store: store.scheduling, sealer, lifeMs, lease: keys.dispatch.scheduleLease, leases, clock, log, failpoint },
    offerOf: type => {
      const { providerType = type, price = 0 } = types.get(type) ?? {}
      return { providerType, price }
    },
    pool: { types: [...types.values()], rules: rulesOf(dispatch) },
    pollMs: CloudVMs.PollInterval,
    scanMs: config.engine.scanIntervalMs,
    initialQuotaEstimate: CloudVMs.InitialQuotaEstimate,
    onPass: sight.onPass,
    ...(overloadedMs && { overloadedMs }),
  })
  const off = store.bell.on(ring => scheduler.hear(ring))
  const sweeper = new Sweeper({
    ...{ ...common, ended: store.ended, lease: keys.dispatch.sweepLease },
    ...{ intervalMs: CloudVMs.SyncInterval, bootingMs: CloudVMs.TimeoutBooting },
    tombstoneMs: config.times.tombstoneSeconds * 1000,
    onAdopted: sight.onAdopted,
    onSwept: ({ removed }) => sight.onRemoved(removed),
  })
  const comparer = new Comparer({
    ...{ ...common, compares: store.compares, lagMs: lagMs[CloudVMs.Driver] },
    holdMs: config.engine.leaseTtlMs + longestCallMs,
    onAdopted: sight.onAdopted,
    onCompared: () => scheduler.wake(),
  })
  return { scheduler, sweeper, comparer, close: off }
}
