/** The life of a process that serves tenants: start, wait for Kubernetes and an answer about policies, reconcile, drain. */
import type { Settings } from '../../settings/load.ts'
import { readinessOfDeclared } from '../declared.ts'
import { untilAnswered, untilInForce } from '../in-force.ts'
import { live, uptimeMs } from '../life.ts'
import { type Part, startParts } from '../part.ts'
import { kubernetesName } from '../readiness.ts'
import { makeTenantReplica, type TenantReplica } from './replica.ts'
import type { Rest } from './rest.ts'

/** Serves until SIGTERM or SIGINT, then ends its turns and the process: another replica does the rest of an unfinished one. */
export async function serveTenants(settings: Settings): Promise<void> {
  const otel = settings.config.tracing.endpoint ? await import('../../telemetry/otel.ts') : undefined
  const billing = settings.billing ? await import('./billing.ts') : undefined
  const made = makeTenantReplica(settings, otel?.createTracing, billing?.joinBilling)
  // They need no watch: a creation is judged by the configuration.
  const replica: TenantReplica = { ...made, stages: [...made.stages, { when: 'first', parts: await webhooksOf(made) }] }
  const waiting = new Set([kubernetesName])
  const rest = await restOf(replica, waiting)
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
async function restOf(replica: TenantReplica, waiting: ReadonlySet<string>): Promise<Rest | undefined> {
  const { rest } = replica.basics.config.tenants
  if (rest === undefined) return undefined
  const { joinRest } = await import('./rest.ts')
  return joinRest(replica, rest, () => !waiting.has(kubernetesName))
}

/** The webhooks, if the configuration wants them: nothing of them is loaded else. */
async function webhooksOf({ basics, kube, world }: TenantReplica): Promise<readonly Part[]> {
  const { webhooks } = basics.config.tenants
  const { webhookFiles: files } = basics.settings
  if (webhooks === undefined || files === undefined) return []
  const { joinWebhooks } = await import('./webhooks.ts')
  return [joinWebhooks(basics, kube, world.settings, { port: webhooks.port, files })]
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
  await untilAnswered(policies, waiting, basics.clock, signal)
  startParts(stages, 'reached')
  // If they are missing later it revokes.
  await untilInForce(policies, waiting, basics.clock, signal)
  basics.log.info({ uptimeMs: uptimeMs() }, 'ready')
}
