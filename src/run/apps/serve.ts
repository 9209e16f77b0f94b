/** The life of a process that serves apps: start, wait for Kubernetes and an answer about the policy, reconcile, drain. */
import type { Settings } from '../../settings/load.ts'
import { readinessOfDeclared } from '../declared.ts'
import { untilAnswered, untilInForce } from '../in-force.ts'
import { live, uptimeMs } from '../life.ts'
import { startParts } from '../part.ts'
import { kubernetesName } from '../readiness.ts'
import type { AppIdle } from './idle.ts'
import { type AppReplica, makeAppReplica } from './replica.ts'
import type { Rest } from './rest.ts'

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
    ...{
      basics: replica.basics,
      stages: replica.stages,
      waiting,
      readiness: readinessOfDeclared(waiting, replica, rest),
    },
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
  await untilAnswered(policies, waiting, basics.clock, signal)
  startParts(stages, 'reached')
  // If it is missing later it stops apps.
  await untilInForce(policies, waiting, basics.clock, signal)
  await rest?.templates.whenShown(signal)
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}
