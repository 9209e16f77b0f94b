/** The wing of apps beside labs, at rest: its definitions, rights and policy in the cluster, a controller and a gateway without an app. */
import { appsUsersBeside, startAppsBeside } from '../../dev/apps/beside.ts'
import { appsObjects } from '../../dev/kube/apps.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import { addUser, type BenchStack } from './bench-stack.ts'
import { applyObjects } from './tenant-policies.ts'

/**
 * Resolves when both processes are ready. The run ends them.
 * @param idle whether and how the controller stops apps
 */
export async function startIdleApps(
  { stack, stateDir, redis }: BenchStack,
  signal: AbortSignal,
  idle?: ConfigInput['idle'],
): Promise<void> {
  await applyObjects(stack.cluster, await appsObjects())
  for (const line of appsUsersBeside) await addUser(redis, line)
  const { cluster, program } = stack
  const { controller, gateway } = await startAppsBeside({
    ...{ stateDir, cluster, program, redisUrl: stack.redis.url, users: stack.users, restart: false },
    config: { ...(idle && { idle }) },
  })
  await Promise.all([controller.ready(signal), gateway.ready(signal)])
}
