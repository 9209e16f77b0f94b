/** The life of a process that serves apps: start, wait for Kubernetes and an answer about the policy, reconcile, drain. */
import type { Readiness } from '../../api/monitoring.ts'
import { inFull } from '../../base/reasons.ts'
import type { Settings } from '../../settings/load.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { kubernetesName, redisName } from '../readiness.ts'
import type { AppIdle } from './idle.ts'
import { type AppReplica, makeAppReplica } from './replica.ts'
import type { Rest } from './rest.ts'

const lookMs = 200

/** Serves until SIGTERM or SIGINT, then ends its turns and the process: another replica does the rest of an unfinished one. */
export async function serveApps(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const made = makeAppReplica(settings, otel?.createTracing)
  const { idle } = made.basics.config
  const ofIdle = idle.enabled ? (await import('./idle.ts')).joinIdle(made) : undefined
  const replica: AppReplica = { ...made, stages: [...made.stages, { when: 'reached', parts: ofIdle?.parts ?? [] }] }
  const waiting = new Set([kubernetesName])
  const rest = await restOf(replica, waiting, ofIdle)
  await live({
    ...{ basics: replica.basics, stages: replica.stages, waiting, readiness: readinessOf(waiting, replica, rest) },
    listen: rest?.listen,
    start: signal => start(replica, rest, waiting, signal),
    onDrained: () => rest?.part.stop?.(),
    onClosing: () => rest?.part.close?.(),
  })
}

/** REST, if the configuration wants it: nothing of it is loaded else. */
async function restOf(
  replica: AppReplica,
  waiting: ReadonlySet<string>,
  ofIdle: AppIdle | undefined,
): Promise<Rest | undefined> {
  if (replica.basics.config.apps.rest === undefined) return undefined
  const { joinRest } = await import('./rest.ts')
  return joinRest(replica, () => !waiting.has(kubernetesName), ofIdle?.activity)
}

async function start(
  replica: AppReplica,
  rest: Rest | undefined,
  waiting: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { basics, watches, policies, stages, tenants } = replica
  startParts(stages, 'first')
  await Promise.all([watches.group.whenReady(signal), tenants.whenKnown()])
  signal.throwIfAborted()
  waiting.delete(kubernetesName)
  rest?.part.start?.()
  while (!policies.answered) await waitFor(policies.refusal ?? kubernetesName, waiting, replica, signal)
  startParts(stages, 'reached')
  // A rollout stops at a replica that could make nothing. If the policy is missing later, it stays ready: it stops apps.
  for (let refusal = policies.refusal; refusal !== undefined; refusal = policies.refusal) {
    await waitFor(refusal, waiting, replica, signal)
  }
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}

async function waitFor(what: string, waiting: Set<string>, { basics }: AppReplica, signal: AbortSignal) {
  waiting.add(what)
  await basics.clock.sleep(lookMs, signal)
  waiting.delete(what)
}

/** Objects are made without Redis: a process without it is ready, and tells it. */
function readinessOf(
  waiting: ReadonlySet<string>,
  { access, kube, watches, policies }: AppReplica,
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
