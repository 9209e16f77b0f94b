/** The options of a reconciler. */
import type { Clock } from '../base/clock.ts'
import type { Failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Leases } from '../leases/leases.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Holding } from './held.ts'
import type { RivalsOptions } from './rivals.ts'
import type { Kind } from './types.ts'
import type { ReconcileClient } from './writer.ts'

export type ReconcileMetrics = Pick<
  Metrics,
  'reconcileTurns' | 'reconcileReaction' | 'reconcileWrites' | 'reconcileQueue' | 'reconcileContended'
>

export interface ReconcilerOptions<World> {
  readonly kind: Kind<World>
  readonly kube: ReconcileClient
  readonly leases: Pick<Leases, 'acquireTask'>
  /** One for all reconcilers of a process. */
  readonly holding: Holding
  /** The name of a lease in Redis, for `<kind>:<key>`. */
  readonly leaseKey: (name: string) => string
  /** The name of a lock in Redis. */
  readonly lockKey: (name: string) => string
  readonly leaseTtlMs: number
  /** Number of turns at once; see `Places`. */
  readonly room: number
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ReconcileMetrics
  /** `reconcile.<kind>.<act>.<kind of object>.before-send`, and `.after-send`, with the key. */
  readonly failpoint: Failpoint
  readonly rivals?: RivalsOptions
  /** Interval in which all keys are looked at again, one after the other. Default: 30 min. */
  readonly resyncMs?: number
}
