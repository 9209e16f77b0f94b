/** The life of a process that serves dispatch: start, wait for Redis and the compare with the cloud, serve, drain. */
import type { Settings } from '../../settings/load.ts'
import { Keys } from '../../store/keys.ts'
import { missingRights } from '../../store/rights.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { redisName } from '../readiness.ts'
import { mayStart, reachRedis } from '../redis-ready.ts'
import { firstCompare, readinessOf } from './readiness.ts'
import { type DispatchReplica, makeDispatchReplica } from './replica.ts'

const lookMs = 200

/** Serves until SIGTERM or SIGINT, then hands its machines over and ends the process. Their containers go on. */
export async function serveDispatch(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = await makeDispatchReplica(settings, otel?.createTracing)
  const waiting = new Set([redisName, firstCompare])
  await live({
    ...{ basics: replica.basics, stages: replica.stages, waiting, readiness: readinessOf(waiting, replica) },
    listen: replica.rest.listen,
    start: signal => startDispatchReplica(replica, waiting, signal),
    onDrained: () => replica.rest.part.stop?.(),
    onClosing: () => replica.rest.part.close?.(),
  })
}

/** Resolves when it serves: Redis and the cloud have answered. */
export async function startDispatchReplica(
  replica: DispatchReplica,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { basics, store, stages } = replica
  startParts(stages, 'first')
  const { tenantsKeyPrefix } = basics.config.dispatch!
  const tenants = tenantsKeyPrefix === undefined ? undefined : new Keys(tenantsKeyPrefix)
  const missing = (connection: typeof store.connection, keys: Keys) => missingRights(connection, keys, tenants)
  await reachRedis({ basics, store, missing }, waiting, signal)
  startParts(stages, 'connected')
  while (!(await store.machines.compared().catch(() => false))) {
    mayStart(store.connection)
    await basics.clock.sleep(lookMs, signal)
  }
  startParts(stages, 'permitted')
  waiting.delete(firstCompare)
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}
