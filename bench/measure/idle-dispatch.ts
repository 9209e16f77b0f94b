/** The wing of containers beside labs, at rest. */
import { startBeside, userBeside } from '../../dev/dispatch/beside.ts'
import type { BenchStack } from './bench-stack.ts'

/** Resolves when the process is ready. The run ends it. */
export async function startIdleDispatch({ stack, stateDir, redis }: BenchStack, signal: AbortSignal): Promise<void> {
  await redis.call('ACL', 'SETUSER', ...userBeside.split(' ').slice(1))
  const { program } = stack
  const replica = await startBeside({ stateDir, redisUrl: stack.redis.url, program, restart: false })
  await replica.ready(signal)
}
