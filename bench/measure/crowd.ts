/** Users who want labs: at Skylab, and at the bare routes beside which acceptance is measured. */
import type { RouteQuestion } from './bare-route.ts'
import { type BenchStack, settle } from './bench-stack.ts'
import type { User } from './lab-client.ts'
import type { Load, LoadResult } from './load.ts'
import { tally } from './statistics.ts'

export interface Crowd {
  /** Creations of these users, followed to their ends, unless the load says otherwise. */
  ask(load: Pick<Load, 'users'> & Partial<Load>): Promise<LoadResult>
  /** The same requests to the bare routes, from a process of its own; resolves when all processes are at rest again. */
  askBare(load: Pick<Load, 'users' | 'perSecond'>): Promise<LoadResult>
}

export function openCrowd(bench: BenchStack, client = startClient(bench, 'client')): Pick<Crowd, 'ask'> {
  const { adminToken } = bench
  return {
    ask: load => client.ask<LoadResult>({ kind: 'create', url: bench.stack.url, adminToken, follow: true, ...load }),
  }
}

const startClient = (bench: BenchStack, name: string) => bench.worker(new URL('load.ts', import.meta.url), name)

/**
 * Starts the bare routes too, as many as replicas and behind a balancer like theirs. Some users pay for what first labs
 * and first requests cost; their labs stay.
 */
export async function openWarmCrowd(
  bench: BenchStack,
  { warmUp, replicas, signal }: { warmUp: readonly User[]; replicas: number; signal: AbortSignal },
): Promise<Crowd> {
  const { ask } = openCrowd(bench)
  const url = await startBareRoutes(bench, replicas)
  const bare = openCrowd(bench, startClient(bench, 'bare-client'))
  const askBare: Crowd['askBare'] = async load => {
    const result = await bare.ask({ ...load, url, follow: false })
    await settle(bench, signal)
    return result
  }
  const { outcomes } = await ask({ users: warmUp })
  if (outcomes.some(outcome => outcome !== 'complete')) throw new Error(`warm-up: ${JSON.stringify(tally(outcomes))}`)
  await askBare({ users: warmUp })
  return { ask, askBare }
}

/** Resolves with the balancer's URL. */
async function startBareRoutes({ stack, worker, balance }: BenchStack, count: number): Promise<string> {
  const routes = Array.from({ length: count }, () => worker(new URL('bare-route.ts', import.meta.url)))
  const question: RouteQuestion = { redisUrl: stack.redis.url }
  const ports = await Promise.all(routes.map(route => route.ask<number>(question)))
  return balance(
    'balancer-bare',
    ports.map(port => ({ port, monitoringPort: port })),
  )
}
