/** The life of a process that stops idle notebooks: start, wait for Redis and Kubernetes, look at them, drain. */
import type { Readiness } from '../../api/monitoring.ts'
import { inFull } from '../../base/reasons.ts'
import { servesNotebooksRest } from '../../settings/checks.ts'
import type { Settings } from '../../settings/load.ts'
import { untilInForce } from '../in-force.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { kubernetesName, redisName } from '../readiness.ts'
import { reachRedis } from '../redis-ready.ts'
import { hasSubjects } from './policy.ts'
import { makeNotebookReplica, type NotebookReplica } from './replica.ts'
import type { Rest } from './rest.ts'

/** Serves until SIGTERM or SIGINT, then ends the process: another replica takes what was being checked. */
export async function serveNotebooks(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = makeNotebookReplica(settings, otel?.createTracing)
  const { basics, stages } = replica
  const waiting = new Set([redisName, kubernetesName])
  const rest = servesNotebooksRest(basics.config) ? (await import('./rest.ts')).joinRest(replica) : undefined
  await live({
    ...{ basics, stages, waiting, readiness: readinessOf(waiting, replica, rest) },
    listen: rest?.listen,
    start: signal => start(replica, waiting, signal),
    onDrained: () => rest?.stop(),
    onClosing: () => rest?.close(),
  })
}

/**
 * Nothing is looked at before Redis and Kubernetes are there: a workload would seem to have no pod. Where there is something that
 * may be stopped, the policy must be in force too.
 */
async function start(replica: NotebookReplica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
  const { basics, watches, policy, stages } = replica
  startParts(stages, 'first')
  const connected = reachRedis(replica, waiting, signal).then(() => startParts(stages, 'connected'))
  const seen = watches.group.whenReady(signal).then(() => waiting.delete(kubernetesName))
  await Promise.all([connected, seen])
  signal.throwIfAborted()
  startParts(stages, 'reached')
  if (hasSubjects(watches)) await untilInForce(policy, waiting, basics.clock, signal)
  startParts(stages, 'permitted')
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}

/** A Redis or a cluster that is lost later makes no replica unready: nothing is stopped then, and no other has another one. */
function readinessOf(
  waiting: ReadonlySet<string>,
  { store, kube, watches, policy }: NotebookReplica,
  rest: Rest | undefined,
): Readiness {
  const named = (name: string, reason: string | undefined) => reason && `${name}: ${reason}`
  const full = (reason: Parameters<typeof inFull>[0] | undefined) => reason && inFull(reason)
  const redis = () => named(redisName, full(store.connection.trouble()))
  const kubernetes = () => named(kubernetesName, full(kube.trouble()))
  const refused = () => watches.group.troubles()
  const words = (what: string) => {
    if (what === redisName) return redis() ?? what
    return what === kubernetesName ? (kubernetes() ?? [what, ...refused()].join(': ')) : what
  }
  // Before there is something that it bounds, nobody has asked.
  const unbounded = () => (policy.answered ? policy.refusal : undefined)
  return {
    waitingFor: () => [...waiting].map(words),
    troubles: () =>
      [redis(), kubernetes(), unbounded(), named('the identity provider', rest?.trouble()), ...refused()].filter(
        each => each !== undefined,
      ),
  }
}
