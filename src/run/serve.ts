/** The life of a process: start, wait for Redis, Kubernetes and the first compare, serve, drain. */
import { startMonitoringServer } from '../api/monitoring.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import type { Settings } from '../settings/load.ts'
import { missingRights } from '../store/rights.ts'
import { drain } from './drain.ts'
import { closeParts, startParts, stopParts } from './part.ts'
import { kubernetesName, readinessOf, redisName } from './readiness.ts'
import { makeReplica, type Replica } from './replica.ts'
import { warmUp } from './warm-up.ts'

/** Time since the process began. */
const uptimeMs = () => Math.round(process.uptime() * 1000)

const lookMs = 200
/** Part of the time that a drain reserves for the last parts. */
const monitoringGraceMs = 500
/** Retry interval of the probe of the identity provider, until it has answered once. */
const probeMs = 5000
const othersKey = 'the sealing key of the other replicas, which is not in sealing.keyFiles here'
const rightTo = 'the right of its user of Redis to call'
/** How often missing rights are checked again. */
const rightsMs = 1000
const firstCompare = 'the first compare of the records with the cluster'

/** Serves until SIGTERM or SIGINT, then hands everything over and ends the process. */
export async function serve(settings: Settings): Promise<void> {
  // Loaded only if traces are configured, since that takes a while.
  const otel = settings.config.tracing.endpoint ? await import('../telemetry/otel.ts') : undefined
  const idle = settings.config.idle.enabled ? await import('./idle.ts') : undefined
  const replica = makeReplica(settings, { createTracing: otel?.createTracing, joinIdle: idle?.joinIdle })
  const { log, config, clock, metrics } = replica.basics
  const { tls } = replica.api
  for (const warning of settings.warnings) log.warn({ warning }, 'configuration')
  const waiting = new Set([redisName, kubernetesName, firstCompare])
  const readiness = readinessOf(waiting, replica)
  tls?.certificates.start()
  const monitoring = await startMonitoringServer({ config, metrics, clock, log, readiness })
  const server = await replica.api.listen()
  const ports = { host: server.host, port: server.port, tls: tls !== undefined, monitoringPort: monitoring.port }
  log.info({ ...ports, waitingFor: [...waiting], uptimeMs: uptimeMs() }, 'listening')

  const stopping = new AbortController()
  const end = async (signal: string) => {
    if (stopping.signal.aborted) return
    stopping.abort()
    log.info({ signal }, 'draining')
    waiting.add('nothing: this replica is draining')
    const drainMs = config.times.drainSeconds * 1000
    const overdue = setTimeout(() => process.exit(1), drainMs)
    const handedOver = await drain({ clock, log, drainMs, server, handOver: () => stopParts(replica.stages) })
    replica.audit.trail?.flush()
    // Operations that still run use the parts that are closed here.
    if (!handedOver) process.exit(1)
    // Until here probes can still read that this replica is not ready.
    await monitoring.close(monitoringGraceMs)
    await closeParts(replica.stages)
    clearTimeout(overdue)
    log.info('drained')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void end(signal))

  await start(replica, waiting, stopping.signal).catch(error => {
    if (stopping.signal.aborted) return
    log.fatal({ err: error }, error instanceof NeedsSomeone ? error.message : 'cannot start')
    process.exit(error instanceof NeedsSomeone ? 2 : 1)
  })
}

/** Waits for all dependencies, however long that takes, and begins to work. */
async function start(replica: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { log } = replica.basics
  startParts(replica.stages, 'first')
  void probeIdentity(replica, signal)
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

async function reachRedis(replica: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { basics, store } = replica
  while (!store.connection.connected()) {
    mayStart(store.connection)
    await basics.clock.sleep(lookMs, signal)
  }
  await mayCall(replica, waiting, signal)
  waiting.delete(redisName)
  basics.log.info('connected to Redis')
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

/** Not awaited: a replica that cannot identify callers can still finish accepted operations. */
async function probeIdentity({ api, basics }: Replica, signal: AbortSignal): Promise<void> {
  const { clock } = basics
  const answers = async () => {
    await api.identity.probe?.()
    return true
  }
  while (!signal.aborted && !(await answers().catch(() => false))) await clock.sleep(probeMs, signal).catch(() => {})
}

/** Waits until the user of Redis may call all commands: otherwise an operation could stop between its steps. */
async function mayCall({ store, basics }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { connection, keys } = store
  const { clock, log } = basics
  let lacking: string | undefined
  for (;;) {
    mayStart(connection)
    const missing = await missingRights(connection, keys).catch(error => {
      if (error instanceof RetryLater) return null
      throw error
    })
    if (missing?.length === 0) break
    const what = missing && `${rightTo} ${missing.map(name => name.toUpperCase()).join(', ')}`
    if (what !== lacking) {
      if (lacking) waiting.delete(lacking)
      if (what) waiting.add(what)
      if (what) log.error({ missing }, 'the user of Redis lacks rights to call commands that are needed')
      lacking = what ?? undefined
    }
    await clock.sleep(rightsMs, signal)
  }
  if (lacking) waiting.delete(lacking)
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

/** @throws {NeedsSomeone} when the configured Redis can never be used */
function mayStart(connection: Replica['store']['connection']): void {
  const trouble = connection.trouble()
  if (trouble?.final) throw new NeedsSomeone(trouble.words)
}
