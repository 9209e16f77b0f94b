/**
 * Users who make and remove their labs without a pause, on nodes of KWOK. docs/bench.md explains the result.
 *   npm run bench -- churn [--users 40] [--minutes 12] [--replicas 3] [--rest 150]
 */
import type { Progress } from '../../dev/process/progress.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type BenchStack, settle, setupBench, withBenchStack } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { round } from '../measure/statistics.ts'
import { memoryFigures, usedBetween } from '../measure/usage.ts'
import type { Churned, ChurnQuestion } from './client.ts'

const defaults = {
  users: 40,
  minutes: 12,
  replicas: 3,
  /** Seconds after the last lab until memory is read: V8 gives pages back when it had nothing to do for 100 s. */
  rest: 150,
}

type Options = typeof defaults

/** Above what any of the users can reach: their rates are not what is measured. */
const rates = { createsPerMinute: 6000, changesPerMinute: 6000, readsPerSecond: 1000 }

export async function churnBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const { users, replicas } = options
  const kwok = nodesFor(users)
  const tools = await setupBench(kwok, progress, signal)
  const conditions = { ...options, kwok_nodes: kwok, ...machine() }
  const context = { tools, progress, signal, kwok, users, replicas, overrides: { api: { rates } } }
  const figures = await withBenchStack(context, bench => churn(bench, options, progress, signal))
  return { bench: 'churn', conditions, ...figures }
}

async function churn(bench: BenchStack, options: Options, progress: Progress, signal: AbortSignal): Promise<object> {
  const { stack, users, adminToken } = bench
  const client = bench.worker(new URL('client.ts', import.meta.url), 'client')
  const seconds = options.minutes * 60
  const question: ChurnQuestion = { url: stack.url, users, adminToken, seconds }
  const before = bench.usage()
  const churned = await progress.part('churn', () => client.ask<Churned>(question))
  const used = usedBetween(before, bench.usage())
  const { made, ends, refused, streamsWithGaps } = churned
  await settle(bench, signal)
  await progress.part('rest', () => systemClock.sleep(options.rest * 1000, signal))
  return {
    labs_per_s: round(made / seconds, 2),
    made,
    ends,
    refused,
    streams_with_gaps: streamsWithGaps,
    cpu_ms_per_lab: Object.fromEntries(
      Object.entries(used).map(([name, cpu]) => [name, round((cpu * 1000) / made, 1)] as const),
    ),
    memory_mib: memoryFigures(stack.replicas),
  }
}
