/** The life of a process that serves tenants: start, wait for Kubernetes and an answer about policies, reconcile, drain. */
import type { Readiness } from '../../api/monitoring.ts'
import { startMonitoringServer } from '../../api/monitoring.ts'
import { inFull } from '../../base/reasons.ts'
import type { Settings } from '../../settings/load.ts'
import { drain } from '../drain.ts'
import { closeParts, startParts, stopParts } from '../part.ts'
import { makeTenantReplica, type TenantReplica } from './replica.ts'
import type { Rest } from './rest.ts'

const uptimeMs = () => Math.round(process.uptime() * 1000)

const lookMs = 200
/** Time for the last answers of the monitoring port. */
const monitoringGraceMs = 500
const watching = 'the Kubernetes API'
const redisName = 'Redis'

/** Serves until SIGTERM or SIGINT, then ends its turns and the process. */
export async function serveTenants(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = makeTenantReplica(settings, otel?.createTracing)
  const { log, config, clock, metrics } = replica.basics
  for (const warning of settings.warnings) log.warn({ warning }, 'configuration')
  const waiting = new Set([watching])
  const rest = await restOf(replica, waiting)
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
    // Another replica sees the same, and does the rest of an unfinished turn.
    const handOver = () => stopParts(replica.stages)
    if (server) await drain({ clock, log, drainMs, server, handOver })
    else await handOver()
    await rest?.part.stop?.()
    await monitoring.close(monitoringGraceMs)
    await rest?.part.close?.()
    await closeParts(replica.stages)
    clearTimeout(overdue)
    log.info('drained')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void end(signal))

  await start(replica, rest, waiting, stopping.signal).catch(error => {
    if (stopping.signal.aborted) return
    log.fatal({ err: error }, 'cannot start')
    process.exit(1)
  })
}

/** REST, if the configuration wants it: nothing of it is loaded else. */
async function restOf(replica: TenantReplica, waiting: ReadonlySet<string>): Promise<Rest | undefined> {
  const { rest } = replica.basics.config.tenants
  if (rest === undefined) return undefined
  const { joinRest } = await import('./rest.ts')
  return joinRest(replica, rest, () => !waiting.has(watching))
}

async function start(
  replica: TenantReplica,
  rest: Rest | undefined,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { basics, watches, policies, stages } = replica
  startParts(stages, 'first')
  await watches.group.whenReady(signal)
  waiting.delete(watching)
  rest?.part.start?.()
  while (!policies.answered) await waitFor(policies.refusal ?? watching, waiting, replica, signal)
  startParts(stages, 'reached')
  // A rollout stops at a replica that could grant nothing. If the policies are missing later, it stays ready: it revokes.
  for (let refusal = policies.refusal; refusal !== undefined; refusal = policies.refusal) {
    await waitFor(refusal, waiting, replica, signal)
  }
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}

async function waitFor(what: string, waiting: Set<string>, { basics }: TenantReplica, signal: AbortSignal) {
  waiting.add(what)
  await basics.clock.sleep(lookMs, signal)
  waiting.delete(what)
}

/** Redis spares work alone: a process without it is ready, and tells it. */
function readinessOf(
  waiting: ReadonlySet<string>,
  { access, kube, watches, policies }: TenantReplica,
  rest: Rest | undefined,
): Readiness {
  const kubernetes = () => {
    const reason = kube.trouble()
    return reason && `${watching}: ${inFull(reason)}`
  }
  const redis = () => {
    const reason = access.connection.trouble()
    return reason && `${redisName}: ${inFull(reason)}`
  }
  const refused = () => watches.group.troubles()
  const identity = () => {
    const reason = rest?.trouble()
    return reason && `the identity provider: ${reason}`
  }
  return {
    waitingFor: () =>
      [...waiting].map(what => (what === watching ? (kubernetes() ?? [watching, ...refused()].join(': ')) : what)),
    troubles: () =>
      [redis(), kubernetes(), policies.refusal, identity(), ...refused()].filter(each => each !== undefined),
  }
}
