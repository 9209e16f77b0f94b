/** The life of a process: start, wait for Redis, Kubernetes and the first compare, serve, drain. */
import type { Settings } from '../settings/load.ts'
import { live, uptimeMs } from './life.ts'
import { startParts } from './part.ts'
import { probeUntilAnswered } from './probe.ts'
import { kubernetesName, readinessOf, redisName } from './readiness.ts'
import { mayStart, reachRedis } from './redis-ready.ts'
import { makeReplica, type Replica } from './replica.ts'
import { warmUp } from './warm-up.ts'

const lookMs = 200
const othersKey = 'the sealing key of the other replicas, which is not in sealing.keyFiles here'
const firstCompare = 'the first compare of the records with the cluster'

/** Serves until SIGTERM or SIGINT, then hands everything over and ends the process. */
export async function serve(settings: Settings): Promise<void> {
  // Loaded only if traces are configured, since that takes a while.
  const otel = settings.config.tracing.endpoint ? await import('../telemetry/otel.ts') : undefined
  const idle = settings.config.idle.enabled ? await import('./idle.ts') : undefined
  const replica = makeReplica(settings, { createTracing: otel?.createTracing, joinIdle: idle?.joinIdle })
  const { basics, stages } = replica
  const { tls, listen } = replica.api
  const waiting = new Set([redisName, kubernetesName, firstCompare])
  tls?.certificates.start()
  await live({
    ...{ basics, stages, waiting, readiness: readinessOf(waiting, replica) },
    ...{ listen, facts: { tls: tls !== undefined } },
    start: signal => start(replica, waiting, signal),
    onDrained: handedOver => {
      replica.audit.trail?.flush()
      // Operations that still run use the parts that are closed next.
      if (!handedOver) process.exit(1)
    },
  })
}

/** Waits for all dependencies, however long that takes, and begins to work. */
async function start(replica: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { log } = replica.basics
  startParts(replica.stages, 'first')
  const { identity } = replica.api
  // A replica that cannot identify callers can still finish accepted operations.
  void probeUntilAnswered(async () => identity.probe?.(), replica.basics.clock, signal)
  const warm = warmUp(replica.basics, replica.store.sealer).catch(err => log.warn({ err }, 'the warm-up failed'))
  const connected = reachRedis(replica, waiting, signal).then(() => startParts(replica.stages, 'connected'))
  await Promise.all([connected, reachCluster(replica, waiting, signal)])
  signal.throwIfAborted()
  startParts(replica.stages, 'reached')
  await mayMake(replica, waiting, signal)
  startParts(replica.stages, 'permitted')
  await becomeCompared(replica, signal)
  await mayOpen(replica, waiting, signal)
  await warm
  waiting.delete(firstCompare)
  log.info({ uptimeMs: uptimeMs() }, 'ready')
}

async function reachCluster({ basics, cluster }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  await cluster.watches.whenReady(signal)
  waiting.delete(kubernetesName)
  basics.log.info('the watches show the cluster')
}

/**
 * Waits for the compare only at the start, when requests can be put off. If Redis is emptied later, all replicas would become
 * unready at once, and none could answer with a Retry-After.
 */
async function becomeCompared({ basics, store }: Replica, signal: AbortSignal): Promise<void> {
  while (!(await store.labs.operations.compared().catch(() => false))) {
    mayStart(store.connection)
    await basics.clock.sleep(lookMs, signal)
  }
}

/** Waits while other replicas seal with a key that this one lacks: they could not open plans that it seals. */
async function mayOpen({ store, basics }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { owners } = store.labs
  while (!owners.opens) {
    if (owners.opens === false && !waiting.has(othersKey)) {
      waiting.add(othersKey)
      basics.log.error('the other replicas seal with a key that is not in sealing.keyFiles here')
    }
    await basics.clock.sleep(lookMs, signal)
  }
  waiting.delete(othersKey)
}

/** Waits until required policies are enforced. If they are missing later, only creations are refused. */
async function mayMake({ upkeep, basics }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { policy } = upkeep
  for (let refusal = policy.refusal; refusal !== undefined; refusal = policy.refusal) {
    waiting.add(refusal)
    await basics.clock.sleep(lookMs, signal)
    waiting.delete(refusal)
  }
}
