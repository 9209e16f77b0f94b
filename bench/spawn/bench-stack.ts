/** Surroundings of a bench: a stack with KWOK's nodes, the load, the bare loop and the bare routes, each a process. */
import { resolve } from 'node:path'
import { Redis } from 'ioredis'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { type ReplicaPorts, startBalancer } from '../../dev/stack/haproxy.ts'
import { applyRights, type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import { readConfig } from '../../src/settings/load.ts'
import { type Usage, usageOf } from '../measure/usage.ts'
import { Worker } from '../measure/worker.ts'
import type { LoopQuestion } from './loop.ts'
import { loopConfig } from './loop-config.ts'
import type { RouteQuestion } from './route.ts'

export interface BenchStackOptions {
  readonly labs: number
  readonly replicas: number
  readonly kwok: number
  /** Requests of the bare loop at once. */
  readonly inFlight: number
  /** A folder for CPU profiles of each process of Node while labs are made. */
  readonly profile: string | undefined
  readonly progress: Progress
  readonly signal: AbortSignal
}

export interface BenchStack {
  readonly stack: Stack
  readonly redis: Redis
  readonly client: Worker
  readonly loop: Worker
  /** Addresses of balancers: for all replicas, for the first one, and for as many bare routes as replicas. */
  readonly urls: { readonly all: string; readonly one: string; readonly bare: string }
  readonly users: readonly { readonly name: string; readonly token: string }[]
  readonly objectsPerLab: number
  usage(): Usage
  /** Starts profiles, or ends and writes them, if wanted. */
  toggleProfiles(): void
  /** Ends all replicas but the first. */
  leaveOne(): Promise<void>
  close(): Promise<void>
}

export async function openBenchStack(options: BenchStackOptions): Promise<BenchStack> {
  const { labs, replicas, kwok, profile, progress, signal } = options
  const choice = { realNode: 'never', kwok, audit: true } as const
  const tools = await setupStack(choice, progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const nodeArgs = profile === undefined ? [] : [profilerArg(profile)]
    const stack = await startStack({
      ...{ ...choice, stateDir, tools, progress, signal, nodeArgs, replicas },
      users: labs + 1,
    })
    const worker = (name: string) => new Worker({ file: new URL(name, import.meta.url), stateDir, nodeArgs })
    const workers = { client: worker('client.ts'), loop: worker('loop.ts') }
    const routes = Array.from({ length: replicas }, () => worker('route.ts'))
    const balance = async (name: string, replicas: readonly ReplicaPorts[]) =>
      (await startBalancer({ stateDir, program: tools.program('haproxy'), replicas, name })).url
    const urls = {
      all: stack.url,
      one: await balance('balancer-one', [stack.replicas[0]!]),
      bare: await balance(
        'balancer-bare',
        (await portsOf(routes, stack)).map(port => ({ port, monitoringPort: port })),
      ),
    }
    return await benchStackOf(options, stack, workers, urls, stateDir, async () => {
      await Promise.all([...Object.values(workers), ...routes].map(each => each.stop()))
      await Promise.all(stack.replicas.map(replica => replica.stop()))
      await run.close()
    })
  } catch (error) {
    await run.close()
    throw error
  }
}

async function benchStackOf(
  { labs, inFlight, profile }: BenchStackOptions,
  stack: Stack,
  workers: Pick<BenchStack, 'client' | 'loop'>,
  urls: BenchStack['urls'],
  stateDir: string,
  close: () => Promise<void>,
): Promise<BenchStack> {
  const { client, loop } = workers
  const users = Object.entries(stack.users)
    .filter(([name]) => name !== 'admin')
    .map(([name, { token }]) => ({ name, token }))
    .slice(0, labs)
  const redis = new Redis(stack.redis.url)
  let standing = stack.replicas
  return {
    ...{ stack, redis, client, loop, urls, users },
    objectsPerLab: await prepareLoop(loop, stack, users, inFlight),
    usage: () => usageOf(stack, stateDir, { client: client.pid, loop: loop.pid }),
    toggleProfiles: () => {
      if (profile === undefined) return
      for (const { pid } of [...standing, client, loop]) process.kill(pid, 'SIGUSR2')
    },
    leaveOne: async () => {
      const others = standing.slice(1)
      standing = standing.slice(0, 1)
      await Promise.all(others.map(replica => replica.stop()))
    },
    close: async () => {
      redis.disconnect()
      await close()
    },
  }
}

function portsOf(routes: readonly Worker[], { redis }: Stack): Promise<number[]> {
  const question: RouteQuestion = { redisUrl: redis.url }
  return Promise.all(routes.map(route => route.ask<number>(question)))
}

function profilerArg(folder: string): string {
  const module = new URL('../measure/profiler.ts', import.meta.url)
  module.searchParams.set('folder', resolve(folder))
  return `--import=${module}`
}

/** The loop acts as the controller's account, which the policies confine to installations that it owns. */
async function prepareLoop(loop: Worker, stack: Stack, users: BenchStack['users'], inFlight: number): Promise<number> {
  const { configFile, cluster } = stack
  await applyRights(cluster, loopConfig(await readConfig(configFile)))
  const names = users.map(({ name }) => name)
  return loop.ask<number>({ do: 'prepare', configFile, users: names, inFlight } satisfies LoopQuestion)
}
