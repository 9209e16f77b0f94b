/**
 * Replicas beside thousands of labs at rest, on nodes of KWOK, which a plain client made before. docs/bench.md explains the
 * result.
 *   npm run bench -- idle [--labs 10000] [--minutes 15] [--replicas 3]
 */
import { statSync } from 'node:fs'
import type { Progress } from '../../dev/process/progress.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { controllerRequests } from '../measure/audit.ts'
import { type BenchStack, settle, setupBench, withBenchStack } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { round, tally } from '../measure/statistics.ts'
import { cpuSeconds, memoryFigures, usedBetween } from '../measure/usage.ts'
import { fillLabs, startReplica, untilCompared } from '../standing/labs.ts'

const defaults = { labs: 10_000, minutes: 15, replicas: 3 }

type Options = typeof defaults

interface Scene {
  readonly bench: BenchStack
  readonly options: Options
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Processes that hold all labs too. */
const others = ['redis', 'kube-apiserver', 'etcd'] as const

export async function idleBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const kwok = nodesFor(options.labs)
  const tools = await setupBench(kwok, progress, signal)
  const conditions = { ...options, kwok_nodes: kwok, ...machine() }
  const context = { tools, progress, signal, kwok, users: options.labs, replicas: 0 }
  const figures = await withBenchStack(context, bench => idle({ bench, options, progress, signal }))
  return { bench: 'idle', conditions, ...figures }
}

async function idle(scene: Scene): Promise<object> {
  const { bench, options, progress, signal } = scene
  const fillSeconds = await progress.part(`${options.labs} labs`, () => fillLabs(bench))
  await settle(bench, signal)
  const names = Array.from({ length: options.replicas }, (_, index) => `replica-${index + 1}`)
  const started = await progress.part('replicas', () => Promise.all(names.map(name => startReplica(scene, name))))
  const replicas = started.map(({ replica }) => replica)
  const compareSeconds = await progress.part('compare', () => untilCompared(replicas, options.labs, signal))
  await settle(bench, signal)
  const atRest = await progress.part('rest', () => watched(scene, replicas))
  const late = await progress.part('another replica', () => startReplica(scene, 'replica-late'))
  return {
    fill_s: round(fillSeconds, 1),
    ready_s: started.map(({ readySeconds }) => round(readySeconds, 1)),
    compare_s: round(compareSeconds, 1),
    ...atRest,
    late_ready_s: round(late.readySeconds, 1),
  }
}

async function watched({ bench, options, signal }: Scene, replicas: readonly Replica[]): Promise<object> {
  const auditLog = bench.stack.cluster.auditLog!
  const from = statSync(auditLog).size
  const seconds = options.minutes * 60
  const [before, all] = [replicas.map(({ pid }) => cpuSeconds(pid)), bench.usage()]
  await systemClock.sleep(seconds * 1000, signal)
  const used = replicas.map(({ pid }, index) => cpuSeconds(pid) - before[index]!)
  const usedByAll = usedBetween(all, bench.usage())
  const requests = await controllerRequests(auditLog, from)
  const percent = (cpu: number) => round((cpu / seconds) * 100, 2)
  const resident = bench.resident()
  return {
    cpu_percent: used.map(percent),
    memory_mib: memoryFigures(replicas),
    requests: tally(requests.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`)),
    others: Object.fromEntries(
      others.map(name => [name, { cpu_percent: percent(usedByAll[name]!), mib: Math.round(resident[name]!) }]),
    ),
    redis_data_mib: await redisData(bench),
  }
}

/** What Redis itself counts as data, without its buffers. */
async function redisData({ redis }: BenchStack): Promise<number> {
  const bytes = /^used_memory_dataset:(\d+)/m.exec(await redis.info('memory'))?.[1]
  return round(Number(bytes) / 2 ** 20, 1)
}
