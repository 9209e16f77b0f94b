/**
 * Many users spawn at once through a real JupyterHub, on nodes of KWOK: with RESTSpawner, with kubespawner, and with
 * kubespawner whose hooks make the same objects as Skylab, in turns on the same cluster. docs/bench.md explains the result.
 *   npm run bench -- hub [--users 100] [--pairs 3] [--replicas 3] [--kwok N] [--profile FOLDER]
 */
import { mkdirSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import { nodesFor } from '../measure/machine.ts'
import { percentile, round } from '../measure/statistics.ts'
import { type HubHalf, hubHalf } from './half.ts'
import { type HubPair, hubReport } from './report.ts'
import { openSite, type Site, type Spawner } from './site.ts'

interface Options {
  readonly users: number
  readonly pairs: number
  readonly replicas: number
  readonly kwok: number
  readonly profile: string | undefined
}

export async function hubBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  if (options.profile !== undefined) mkdirSync(options.profile, { recursive: true })
  const site = await openSite({ ...options, progress, signal })
  // Pending waits end when the processes are closed.
  const interrupted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  try {
    return await Promise.race([hubFigures(site, options, progress), interrupted])
  } finally {
    await progress.part('take down', () => site.close())
  }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '100' },
      pairs: { type: 'string', default: '3' },
      replicas: { type: 'string', default: '3' },
      kwok: { type: 'string' },
      profile: { type: 'string' },
    },
  })
  const users = Number(values.users)
  const kwok = Number(values.kwok ?? nodesFor(users))
  const profile = values.profile === undefined ? undefined : resolve(values.profile)
  return { users, pairs: Number(values.pairs), replicas: Number(values.replicas), kwok, profile }
}

async function hubFigures(site: Site, options: Options, progress: Progress): Promise<object> {
  const { users, pairs, replicas, kwok, profile } = options
  // The first pair must not pay for code that replicas compile once.
  await progress.part('warm-up', () => hubHalf(site, 'skylab'))
  const done: HubPair[] = []
  const load: number[] = []
  for (let number = 1; number <= pairs; number++) {
    const half = async (spawner: Spawner) => {
      load.push(round(loadavg()[0]!, 1))
      const result = await progress.part(`pair ${number} of ${pairs}: ${spawner}`, () =>
        hubHalf(site, spawner, profile),
      )
      progress.say(phraseOf(spawner, result, users))
      return result
    }
    done.push({ skylab: await half('skylab'), hooks: await half('hooks'), kubespawner: await half('kubespawner') })
  }
  return {
    bench: 'hub',
    conditions: {
      ...{ users, at_once: users, pairs, replicas, kwok_nodes: kwok, order: 'skylab, hooks, kubespawner, and again' },
      labs: 'one stub answers for all of them, to both Hubs',
      ...conditionsOf(site, load),
    },
    ...hubReport(done, users),
  }
}

function conditionsOf({ versions }: Site, load: readonly number[]): object {
  return { cpus: availableParallelism(), node: process.version, ...versions, load_before_each: load }
}

function phraseOf(spawner: Spawner, { spawned, usage, memory }: HubHalf, users: number): string {
  const [p50, p95] = [0.5, 0.95].map(share => round(percentile(spawned.readyMs, share) / 1000, 1))
  const cpuMs = (...names: readonly string[]) =>
    round((names.reduce((sum, name) => sum + (usage[name] ?? 0), 0) * 1000) / users, 1)
  const memoryWords = `${Math.round(memory.before.nowMib)} MiB, ${Math.round(memory.after.peakMib)} at most`
  const cpuWords = `${cpuMs('hub')} ms of the Hub's CPU per spawn, ${cpuMs('replicas')} of the replicas'`
  return `  ${spawner}: ready after ${p50} s (p50), ${p95} s (p95); ${cpuWords}; ${memoryWords}`
}
