/**
 * Thousands of labs at once on nodes of KWOK, while a proxy before the API server caps the controller's requests. docs/bench.md
 * explains the result.
 *   npm run bench -- storm [--labs 3000] [--per-second 200] [--replicas 3] [--warm-up 100]
 */
import { statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Cluster } from '../../dev/cluster/types.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { controllerRequests } from '../measure/audit.ts'
import { type BenchStack, settle, setupBench, withBenchStack } from '../measure/bench-stack.ts'
import { openWarmCrowd } from '../measure/crowd.ts'
import type { LoadResult } from '../measure/load.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { percentile, round, tally } from '../measure/statistics.ts'
import { memoryFigures } from '../measure/usage.ts'
import type { Worker } from '../measure/worker.ts'
import type { CapCount, CapQuestion } from './cap.ts'

const defaults = { labs: 3000, 'per-second': 200, replicas: 3, 'warm-up': 100 }

type Options = typeof defaults

export async function stormBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const { replicas } = options
  const users = options.labs + options['warm-up']
  const kwok = nodesFor(users)
  const tools = await setupBench(kwok, progress, signal)
  const conditions = { ...options, kwok_nodes: kwok, ...machine() }
  let cap: Worker
  const figures = await withBenchStack(
    {
      ...{ tools, progress, signal, kwok, users, replicas },
      leadKubeconfig: (file, cluster, worker) => {
        cap = worker(new URL('cap.ts', import.meta.url), 'cap')
        return leadThrough(cap, file, cluster, options['per-second'])
      },
    },
    bench => storm(bench, cap, options, progress, signal),
  )
  return { bench: 'storm', conditions, ...figures }
}

/** Starts the proxy; resolves with the path of a kubeconfig that leads there. */
async function leadThrough(cap: Worker, file: string, { stateDir }: Cluster, perSecond: number): Promise<string> {
  const config = parse(await readFile(file, 'utf8'))
  const { cluster } = config.clusters[0]
  const pki = (name: string) => join(stateDir, 'pki', name)
  const files = { key: pki('api.key'), cert: pki('api.crt'), ca: pki('ca.crt') }
  cluster.server = await cap.ask<string>({
    do: 'start',
    server: cluster.server,
    files,
    perSecond,
  } satisfies CapQuestion)
  const led = join(stateDir, 'capped.kubeconfig')
  await writeFile(led, JSON.stringify(config), { mode: 0o600 })
  return led
}

async function storm(
  bench: BenchStack,
  cap: Worker,
  options: Options,
  progress: Progress,
  signal: AbortSignal,
): Promise<object> {
  const { stack, users } = bench
  const { replicas } = options
  const [warmUp, measured] = [users.slice(0, options['warm-up']), users.slice(options['warm-up'])]
  const crowd = await progress.part('warm-up', () => openWarmCrowd(bench, { warmUp, replicas, signal }))
  const bare = await crowd.askBare({ users: measured })
  const from = statSync(stack.cluster.auditLog!).size
  await cap.ask<CapCount>({ do: 'count' } satisfies CapQuestion)
  const result = await progress.part(`${measured.length} labs`, () => crowd.ask({ users: measured }))
  const count = await cap.ask<CapCount>({ do: 'count' } satisfies CapQuestion)
  await settle(bench, signal)
  const requests = (await controllerRequests(stack.cluster.auditLog!, from)).filter(({ op }) => op !== undefined)
  return {
    ...stormFigures(result, bare, requests.length, options),
    proxy: count,
    memory_mib: memoryFigures(stack.replicas),
  }
}

function stormFigures(result: LoadResult, bare: LoadResult, requests: number, options: Options): object {
  const spread = ({ acceptMs }: LoadResult) => ({
    p50: round(percentile(acceptMs, 0.5), 1),
    p99: round(percentile(acceptMs, 0.99), 1),
  })
  const capSeconds = requests / options['per-second']
  return {
    failed: result.outcomes.filter(outcome => outcome !== 'complete').length,
    outcomes: tally(result.outcomes),
    streams_with_gaps: result.streamsWithGaps,
    accept_ms: spread(result),
    bare_accept_ms: spread(bare),
    accept_p99_by_bare: round(percentile(result.acceptMs, 0.99) / percentile(bare.acceptMs, 0.99), 2),
    seconds: round(result.seconds, 1),
    requests_per_lab: round(requests / options.labs),
    cap_seconds: round(capSeconds, 1),
    seconds_by_cap: round(result.seconds / capSeconds),
  }
}
