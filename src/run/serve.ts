/** The life of a process: start, wait for Redis, Kubernetes and the first compare, serve, drain. */
import { startMonitoringServer } from '../api/monitoring.ts'
import { startApiServer } from '../api/server.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { inFull, type Reason } from '../base/reasons.ts'
import { applyRbac } from '../kube/client.ts'
import type { Settings } from '../settings/load.ts'
import { missingRights } from '../store/rights.ts'
import { drain } from './drain.ts'
import { type Replica, wire } from './wire.ts'

/** Since the process began. */
const uptimeMs = () => Math.round(process.uptime() * 1000)

const lookMs = 200
/** Within what a drain keeps for what is closed last. */
const monitoringGraceMs = 500
const redisName = 'Redis'
const kubernetesName = 'the Kubernetes API'
/** From one question to the identity provider in vain to the next, until it has answered once. */
const probeMs = 5000
const othersKey = 'the sealing key of the other replicas, which is not in sealing.keyFiles here'
const rightTo = 'the right of its user of Redis to call'
/** How often it is asked whether a right that was missing is there. */
const rightsMs = 1000
const firstCompare = 'the first compare of the records with the cluster'

/** Serves until SIGTERM or SIGINT, then hands everything over and ends the process. */
export async function serve(settings: Settings): Promise<void> {
  // Only where traces are wanted: loading what makes them takes a while.
  const otel = settings.config.tracing.endpoint ? await import('../telemetry/otel.ts') : undefined
  const replica = wire(settings, otel?.createTracing)
  const { log, config, clock } = replica
  for (const warning of settings.warnings) log.warn({ warning }, 'configuration')
  const waiting = new Set([redisName, kubernetesName, firstCompare])
  const readiness = { waitingFor: () => waitingFor(waiting, replica), troubles: () => troublesOf(waiting, replica) }
  replica.tls?.certificates.start()
  const monitoring = await startMonitoringServer({ ...replica, readiness })
  const server = await startApiServer(replica)
  const ports = {
    host: server.host,
    port: server.port,
    tls: replica.tls !== undefined,
    monitoringPort: monitoring.port,
  }
  log.info({ ...ports, waitingFor: [...waiting], uptimeMs: uptimeMs() }, 'listening')

  const stopping = new AbortController()
  const end = async (signal: string) => {
    if (stopping.signal.aborted) return
    stopping.abort()
    log.info({ signal }, 'draining')
    waiting.add('nothing: this replica is draining')
    const drainMs = config.times.drainSeconds * 1000
    const overdue = setTimeout(() => process.exit(1), drainMs)
    const handedOver = await drain({ clock, log, drainMs, server, handOver: () => stop(replica) })
    replica.trail?.flush()
    // The operations that still run use all that is closed here.
    if (!handedOver) process.exit(1)
    // Until here a probe is told that this replica is not ready.
    await monitoring.close(monitoringGraceMs)
    await close(replica)
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

/** Waits for what it needs, however long that takes, and begins to work. */
async function start(replica: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { connection, watches, prepullWatches, log, clock } = replica
  connection.open()
  watches.start()
  prepullWatches.start()
  void probeIdentity(replica, signal)
  const redis = async () => {
    while (!connection.connected()) {
      mayStart(connection)
      await clock.sleep(lookMs, signal)
    }
    await mayCall(replica, waiting, signal)
    waiting.delete(redisName)
    log.info('connected to Redis')
  }
  const kubernetes = async () => {
    await watches.whenReady(signal)
    waiting.delete(kubernetesName)
    log.info('the watches show the cluster')
  }
  await Promise.all([redis(), kubernetes()])
  signal.throwIfAborted()
  void replica.bell.listen()
  replica.monitor.start()
  replica.comparer.start()
  replica.policy.start()
  replica.refresher.start()
  await mayMake(replica, waiting, signal)
  replica.prepuller.start()
  replica.engine.start()
  replica.trail?.start()
  // Only at the start: what comes before that is put off. Later, with Redis emptied, all replicas would turn unready
  // at once, and nobody would be left to say when to come again.
  while (!(await replica.compared().catch(() => false))) {
    mayStart(connection)
    await clock.sleep(lookMs, signal)
  }
  await mayOpen(replica, waiting, signal)
  waiting.delete(firstCompare)
  log.info({ uptimeMs: uptimeMs() }, 'ready')
}

/** Nothing waits for it: replicas that know no callers now still finish what was accepted. */
async function probeIdentity({ identity, clock }: Replica, signal: AbortSignal): Promise<void> {
  const answers = async () => {
    await identity.probe?.()
    return true
  }
  while (!signal.aborted && !(await answers().catch(() => false))) await clock.sleep(probeMs, signal).catch(() => {})
}

/** Waits while Redis does not permit its user all commands: an operation would stop amid its steps. */
async function mayCall({ connection, keys, clock, log }: Replica, waiting: Set<string>, signal: AbortSignal) {
  let told: string | undefined
  for (;;) {
    mayStart(connection)
    const missing = await missingRights(connection, keys).catch(error => {
      if (error instanceof RetryLater) return null
      throw error
    })
    if (missing?.length === 0) break
    const what = missing && `${rightTo} ${missing.map(name => name.toUpperCase()).join(', ')}`
    if (what !== told) {
      if (told) waiting.delete(told)
      if (what) waiting.add(what)
      if (what) log.error({ missing }, 'the user of Redis may not call all commands that are needed')
      told = what ?? undefined
    }
    await clock.sleep(rightsMs, signal)
  }
  if (told) waiting.delete(told)
}

/** Waits while the others seal with a key that this replica lacks: it would accept what they cannot open. */
async function mayOpen({ owners, clock, log }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  while (!owners.opens) {
    if (owners.opens === false && !waiting.has(othersKey)) {
      waiting.add(othersKey)
      log.error('the other replicas seal with a key that is not in sealing.keyFiles here')
    }
    await clock.sleep(lookMs, signal)
  }
  waiting.delete(othersKey)
}

/** Waits while the policies that are required are not at work. Later a creation is refused, and all else goes on. */
async function mayMake({ policy, clock }: Replica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  for (let refusal = policy.refusal; refusal !== undefined; refusal = policy.refusal) {
    waiting.add(refusal)
    await clock.sleep(lookMs, signal)
    waiting.delete(refusal)
  }
}

/** @throws {NeedsSomeone} the Redis that is there will never do */
function mayStart(connection: Replica['connection']): void {
  const trouble = connection.trouble()
  if (trouble?.final) throw new NeedsSomeone(trouble.words)
}

/**
 * The reasons why this replica is unready, in words. A Redis that is away later makes no replica unready: each request is
 * answered 503, since no other replica has another Redis. One that will never do is named, and so is one whose clock the
 * last compare doubted.
 */
function waitingFor(waiting: ReadonlySet<string>, replica: Replica): string[] {
  const { connection, comparer, watches } = replica
  const refused = watches.troubles().join('; ')
  const reasons = new Map([...(refused ? [[kubernetesName, refused] as const] : []), ...troublesByName(replica)])
  const redis = connection.trouble()?.final && !waiting.has(redisName) ? [redisName] : []
  return [
    ...[...waiting, ...redis].map(what => named(what, reasons.get(what))),
    ...(comparer.doubt ? [comparer.doubt] : []),
  ]
}

/**
 * What does not work although the replica is ready. A right that is withdrawn later is missing at all replicas: were they
 * unready, nobody would be left to answer what needs no right. A replica that starts without it waits, so a rollout stops.
 */
function troublesOf(waiting: ReadonlySet<string>, replica: Replica): string[] {
  const { policy, watches, prepullWatches } = replica
  const reasons = [...troublesByName(replica)].filter(([name]) => !waiting.has(name))
  const { lacking } = policy
  return [
    ...reasons.map(([name, reason]) => named(name, reason)),
    ...(lacking.length > 0 ? [`the account of the controller may not ${lacking.join(', ')}: ${applyRbac}`] : []),
    ...watches.troubles(),
    ...prepullWatches.troubles(),
  ]
}

const named = (what: string, reason: string | undefined) => (reason === undefined ? what : `${what}: ${reason}`)

/** Why dependencies cannot be used. */
function troublesByName({ connection, kube, refresher, identity }: Replica): ReadonlyMap<string, string> {
  const full = (reason: Reason | undefined) => reason && inFull(reason)
  const found = [
    [redisName, full(connection.trouble())],
    [kubernetesName, full(kube.trouble())],
    ['the registry', refresher.trouble()?.message],
    ['the identity provider', full(identity.trouble?.())],
  ] as const
  return new Map(found.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason] as const])))
}

/** Owns nothing any more; another replica goes on with what was in progress. */
async function stop({ comparer, monitor, engine, policy, refresher, prepuller, stopping }: Replica): Promise<void> {
  monitor.stop()
  stopping.abort()
  await Promise.all([comparer.stop(), policy.stop(), refresher.stop(), prepuller.stop(), engine.drain()])
}

async function close(replica: Replica): Promise<void> {
  const { leases, bell, watches, prepullWatches, kube, connection, tracing, imageSource, trail } = replica
  await leases.close()
  // Its last notes are removed while Redis can still be asked.
  await trail?.stop()
  bell.close()
  await Promise.all([
    replica.tls?.certificates.close(),
    watches.stop(),
    prepullWatches.stop(),
    kube.close(),
    tracing.close(),
    imageSource.close(),
  ])
  connection.close()
}
