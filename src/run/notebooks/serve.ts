/** The life of a process that stops idle notebooks: start, wait for Redis and Kubernetes, look at them, drain. */
import { type Readiness, startMonitoringServer } from '../../api/monitoring.ts'
import { NeedsSomeone, RetryLater } from '../../base/errors.ts'
import { inFull } from '../../base/reasons.ts'
import { servesNotebooksRest } from '../../settings/checks.ts'
import type { Settings } from '../../settings/load.ts'
import { missingRights } from '../../store/rights.ts'
import { drain } from '../drain.ts'
import { closeParts, startParts, stopParts } from '../part.ts'
import { makeNotebookReplica, type NotebookReplica } from './replica.ts'
import type { Rest } from './rest.ts'

const uptimeMs = () => Math.round(process.uptime() * 1000)

const lookMs = 200
/** How often missing rights in Redis are asked for again. */
const rightsMs = 1000
/** Time for the last answers of the monitoring port. */
const monitoringGraceMs = 500
const watching = 'the Kubernetes API'
const redisName = 'Redis'

/** Serves until SIGTERM or SIGINT, then gives its checks up and ends the process. */
export async function serveNotebooks(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = makeNotebookReplica(settings, otel?.createTracing)
  const { log, config, clock, metrics } = replica.basics
  for (const warning of settings.warnings) log.warn({ warning }, 'configuration')
  const waiting = new Set([redisName, watching])
  const rest = servesNotebooksRest(config) ? (await import('./rest.ts')).joinRest(replica) : undefined
  const readiness = readinessOf(waiting, replica, rest)
  const monitoring = await startMonitoringServer({ config, metrics, clock, log, readiness })
  const server = await rest?.listen()
  const ports = { ...(server && { host: server.host, port: server.port }), monitoringPort: monitoring.port }
  log.info({ ...ports, waitingFor: [...waiting], uptimeMs: uptimeMs() }, 'listening')

  const stopping = new AbortController()
  const end = async (signal: string) => {
    if (stopping.signal.aborted) return
    stopping.abort()
    log.info({ signal }, 'draining')
    waiting.add('nothing: this replica is draining')
    const drainMs = config.times.drainSeconds * 1000
    const overdue = setTimeout(() => process.exit(1), drainMs)
    // Another replica takes what was being checked.
    const handOver = () => stopParts(replica.stages)
    if (server) await drain({ clock, log, drainMs, server, handOver })
    else await handOver()
    rest?.stop()
    await monitoring.close(monitoringGraceMs)
    rest?.close()
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

/** Nothing is looked at before both are there: a workload would seem to have no pod. */
async function start(replica: NotebookReplica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { basics, watches, stages } = replica
  startParts(stages, 'first')
  const connected = reachRedis(replica, waiting, signal).then(() => startParts(stages, 'connected'))
  const seen = watches.group.whenReady(signal).then(() => waiting.delete(watching))
  await Promise.all([connected, seen])
  signal.throwIfAborted()
  startParts(stages, 'permitted')
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}

/** Waits until scripts may call all commands. */
async function reachRedis(
  { basics, store }: NotebookReplica,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { connection, keys } = store
  let lacking = ''
  for (;;) {
    const trouble = connection.trouble()
    if (trouble?.final) throw new NeedsSomeone(trouble.words)
    const missing = connection.connected() ? await missingIn(connection, keys) : undefined
    waiting.delete(lacking)
    if (missing?.length === 0) break
    lacking = missing ? `the right of its user of Redis to call ${missing.join(', ').toUpperCase()}` : ''
    if (lacking) waiting.add(lacking)
    await basics.clock.sleep(missing ? rightsMs : lookMs, signal)
  }
  waiting.delete(redisName)
}

/** @returns undefined while Redis does not answer */
function missingIn(...of: Parameters<typeof missingRights>): Promise<readonly string[] | undefined> {
  return missingRights(...of).catch(error => {
    if (error instanceof RetryLater) return undefined
    throw error
  })
}

/** A Redis or a cluster that is lost later makes no replica unready: nothing is stopped then, and no other has another one. */
function readinessOf(
  waiting: ReadonlySet<string>,
  { store, kube, watches }: NotebookReplica,
  rest: Rest | undefined,
): Readiness {
  const named = (name: string, reason: string | undefined) => reason && `${name}: ${reason}`
  const full = (reason: Parameters<typeof inFull>[0] | undefined) => reason && inFull(reason)
  const redis = () => named(redisName, full(store.connection.trouble()))
  const kubernetes = () => named(watching, full(kube.trouble()))
  const refused = () => watches.group.troubles()
  const words = (what: string) => {
    if (what === redisName) return redis() ?? what
    return what === watching ? (kubernetes() ?? [what, ...refused()].join(': ')) : what
  }
  return {
    waitingFor: () => [...waiting].map(words),
    troubles: () =>
      [redis(), kubernetes(), named('the identity provider', rest?.trouble()), ...refused()].filter(
        each => each !== undefined,
      ),
  }
}
