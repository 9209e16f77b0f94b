/** The wing of containers beside labs, at rest. */
import { startBeside, userBeside } from '../../dev/dispatch/beside.ts'
import { addUser, type BenchStack } from './bench-stack.ts'

/**
 * Resolves when the process is ready. The run ends it.
 * @param tenants prefix of those who say who is in which tenant; without one nobody is in any
 */
export async function startIdleDispatch(
  { stack, stateDir, redis }: BenchStack,
  signal: AbortSignal,
  tenants?: string,
): Promise<void> {
  await addUser(redis, userBeside)
  const { program } = stack
  const block = tenants === undefined ? {} : { tenantsKeyPrefix: tenants }
  const replica = await startBeside({ stateDir, redisUrl: stack.redis.url, program, block, restart: false })
  await replica.ready(signal)
}
