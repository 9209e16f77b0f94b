/** The life of a gateway: start, wait for Redis and the routes, carry requests, drain. */
import type { Readiness } from '../../api/monitoring.ts'
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { inFull, type Reason } from '../../base/reasons.ts'
import type { Activity } from '../../gateway/server/activity.ts'
import type { Settings } from '../../settings/load.ts'
import { missingRightsOfGateway } from '../../store/rights.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { probeUntilAnswered } from '../probe.ts'
import { redisName } from '../readiness.ts'
import { reachRedis } from '../redis-ready.ts'
import { drainGateway, longestDrainMs } from './drain.ts'
import { tuneHeap } from './heap.ts'
import { type GatewayReplica, makeGatewayReplica } from './replica.ts'

const lookMs = 100
export const routesName = 'the routes of all apps, which the controller of apps tells'

/** Serves until SIGTERM or SIGINT, then hands its clients over to other replicas and ends the process. */
export async function serveGateway(settings: Settings): Promise<void> {
  tuneHeap()
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = makeGatewayReplica(settings, otel?.createTracing)
  const { basics, stages, door, sockets, activity, certificates } = replica
  const { config, clock } = basics
  const drainMs = config.gateway.drainSeconds * 1000
  const waiting = new Set([redisName, routesName])
  certificates?.start()
  await live({
    ...{ basics, stages, waiting, readiness: readinessOf(waiting, replica) },
    facts: { tls: certificates !== undefined },
    listen: async () => ({
      host: config.api.host,
      port: await door.listen(config.api.host, config.api.port),
      endStreams: () => {},
      close: async () => door.cut(),
    }),
    start: signal => start(replica, waiting, signal),
    drainMs: longestDrainMs(drainMs),
    drain: () => drainGateway({ clock, door, sockets, activity, drainMs }),
    onClosing: () => certificates?.close(),
  })
}

async function start(replica: GatewayReplica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { basics, access, stages } = replica
  startParts(stages, 'first')
  void probeUntilAnswered(() => access.source.probe(), basics.clock, signal)
  await reachRedis({ basics, store: access, missing: missingRightsOfGateway }, waiting, signal)
  startParts(stages, 'connected')
  await openOnce(replica, waiting, signal)
  basics.log.info({ uptimeMs: uptimeMs(), routes: access.routes.size }, 'ready')
}

/** The part of a replica that lets requests through. */
export interface Opening {
  readonly basics: { readonly clock: Pick<Clock, 'sleep'> }
  readonly access: { isReady(): boolean }
  readonly activity: Pick<Activity, 'join'>
  readonly open: () => void
}

/**
 * Lets nothing through before Redis knows that this replica tells what it sees. It counts as ready only then: all that a balancer
 * sends before would be refused.
 */
export async function openOnce(
  { basics, access, activity, open }: Opening,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  while (!access.isReady()) await basics.clock.sleep(lookMs, signal)
  await join(activity, basics.clock, signal)
  open()
  waiting.delete(routesName)
}

async function join(activity: Opening['activity'], clock: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await activity.join()
      return
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error
    }
    await clock.sleep(lookMs, signal)
  }
}

/** A Redis that is lost later makes no replica unready: no other one has another Redis. */
function readinessOf(waiting: ReadonlySet<string>, { access, identity }: GatewayReplica): Readiness {
  const named = (name: string, reason: Reason | undefined) => reason && `${name}: ${inFull(reason)}`
  const redis = () => named(redisName, access.connection.trouble())
  const source = () => named('the identity provider', access.source.trouble() ?? identity.trouble?.())
  return {
    waitingFor: () => [...waiting].map(what => (what === redisName ? (redis() ?? what) : what)),
    troubles: () => [redis(), source()].filter(each => each !== undefined),
  }
}
