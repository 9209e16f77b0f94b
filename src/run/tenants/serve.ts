/** The life of a process that serves tenants: start, wait for Kubernetes and an answer about policies, reconcile, drain. */
import type { Readiness } from '../../api/monitoring.ts'
import { inFull } from '../../base/reasons.ts'
import type { Settings } from '../../settings/load.ts'
import { untilInForce } from '../in-force.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { kubernetesName, redisName } from '../readiness.ts'
import { makeTenantReplica, type TenantReplica } from './replica.ts'
import type { Rest } from './rest.ts'

const lookMs = 200

/** Serves until SIGTERM or SIGINT, then ends its turns and the process: another replica does the rest of an unfinished one. */
export async function serveTenants(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const replica = makeTenantReplica(settings, otel?.createTracing)
  const waiting = new Set([kubernetesName])
  const rest = await restOf(replica, waiting)
  await live({
    ...{ basics: replica.basics, stages: replica.stages, waiting, readiness: readinessOf(waiting, replica, rest) },
    listen: rest?.listen,
    start: signal => start(replica, rest, waiting, signal),
    onDrained: () => rest?.part.stop?.(),
    onClosing: () => rest?.part.close?.(),
  })
}

/** REST, if the configuration wants it: nothing of it is loaded else. */
async function restOf(replica: TenantReplica, waiting: ReadonlySet<string>): Promise<Rest | undefined> {
  const { rest } = replica.basics.config.tenants
  if (rest === undefined) return undefined
  const { joinRest } = await import('./rest.ts')
  return joinRest(replica, rest, () => !waiting.has(kubernetesName))
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
  waiting.delete(kubernetesName)
  rest?.part.start?.()
  while (!policies.answered) await waitFor(policies.refusal ?? kubernetesName, waiting, replica, signal)
  startParts(stages, 'reached')
  // If they are missing later it revokes.
  await untilInForce(policies, waiting, basics.clock, signal)
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
    return reason && `${kubernetesName}: ${inFull(reason)}`
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
      [...waiting].map(what =>
        what === kubernetesName ? (kubernetes() ?? [kubernetesName, ...refused()].join(': ')) : what,
      ),
    troubles: () =>
      [redis(), kubernetes(), policies.refusal, identity(), ...refused()].filter(each => each !== undefined),
  }
}
