/**
 * Twenty users alone, and beside one who sends the worst allowed load. docs/bench.md explains the result.
 *   npm run bench -- worst [--pairs 3] [--seconds 20] [--replicas 3]
 */
import { availableParallelism, loadavg } from 'node:os'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import { numbersOf } from '../measure/options.ts'
import { percentile, round } from '../measure/statistics.ts'
import { Worker } from '../measure/worker.ts'
import { type Asker, type Steady, steadyPerSecond, type Worst, type WorstQuestion } from './client.ts'

interface Options {
  readonly pairs: number
  readonly seconds: number
  readonly replicas: number
}

const userCount = 20

export async function worstBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, { pairs: 3, seconds: 20, replicas: 3 })
  const choice = { realNode: 'never', kwok: 1 } as const
  const tools = await setupStack({ ...choice, audit: false }, progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const { replicas } = options
    const stack = await startStack({ ...choice, stateDir, tools, progress, signal, replicas, users: userCount + 2 })
    const workers = [1, 2].map(
      () => new Worker({ file: new URL('client.ts', import.meta.url), stateDir, nodeArgs: [] }),
    )
    try {
      return await figures({ options, stack, workers, progress })
    } finally {
      await Promise.all(workers.map(worker => worker.stop()))
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

interface Scene {
  readonly options: Options
  readonly stack: Stack
  readonly workers: readonly Worker[]
  readonly progress: Progress
}

async function figures({ options, stack, workers, progress }: Scene): Promise<object> {
  const people = Object.entries(stack.users).filter(([name]) => name !== 'admin')
  const [user, ...users] = people.map(([name, { token }]): Asker => ({ name, token })) as [Asker, ...Asker[]]
  const urls = stack.replicas.map(({ url }) => url)
  const { seconds } = options
  const ask = <T>(worker: Worker, question: WorstQuestion) => worker.ask<T>(question)
  const steady = () => ask<Steady>(workers[0]!, { do: 'steady', urls, users, seconds, creates: true })
  const half = async (name: string, beside: () => Promise<Worst | undefined>) => {
    const [measured, worst] = await progress.part(name, () => Promise.all([steady(), beside()]))
    await progress.part('remove their labs', () => removeLabs(stack, users))
    return { ...spread(measured), created: measured.created, statuses: measured.statuses, worst }
  }
  await progress.part('warm up', async () => ask(workers[0]!, { do: 'steady', urls, users, seconds: 3, creates: true }))
  await removeLabs(stack, users)
  const halves = { alone: [] as Half[], beside: [] as Half[] }
  for (let pair = 0; pair < options.pairs; pair++) {
    halves.alone.push(await half('alone', async () => undefined))
    const worst = () => ask<Worst>(workers[1]!, { do: 'worst', urls, user, key: 'known', seconds })
    halves.beside.push(await half('beside the worst user', worst))
  }
  const ratios = halves.beside.map(({ p99 }, pair) => round(p99 / halves.alone[pair]!.p99))
  return {
    bench: 'worst',
    conditions: {
      ...{ ...options, users: userCount, per_second: steadyPerSecond },
      ...{ cpus: availableParallelism(), node: process.version, load: loadavg().map(load => round(load, 1)) },
    },
    ...halves,
    ratio: round(percentile(ratios, 0.5)),
    ratios,
    leases_lost: await lost(stack.replicas.map(({ monitoringUrl }) => monitoringUrl)),
  }
}

interface Half {
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** In the first three seconds only. */
  readonly burst_p99: number
  readonly created: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly worst: Worst | undefined
}

function spread({ ms, burstMs }: Steady) {
  const [p50, p99, max] = [0.5, 0.99, 1].map(share => round(percentile(ms, share), 1)) as [number, number, number]
  return { p50, p99, max, burst_p99: round(percentile(burstMs, 0.99), 1) }
}

/** Removes the labs of all users, and waits until they are gone. */
async function removeLabs({ url, users: people }: Stack, users: readonly Asker[]): Promise<void> {
  const headers = { authorization: `Bearer ${people.admin!.token}` }
  const each = async ({ name }: Asker) => {
    const lab = `${url}/nublado/spawner/v1/labs/${name}`
    await fetch(lab, { method: 'DELETE', headers })
    const isGone = async () => (await fetch(lab, { headers })).status === 404
    await waitUntil(isGone, { what: `the end of the lab of ${name}`, limitMs: 120_000 })
  }
  await Promise.all(users.map(each))
}

/** The number of leases that the replicas lost, by their own metrics. */
async function lost(urls: readonly string[]): Promise<number> {
  const texts = await Promise.all(urls.map(async url => (await fetch(`${url}/metrics`)).text()))
  const counts = texts.map(text =>
    Number(/^skylab_leases_total\{outcome="lost"[^}]*\} (\d+)/m.exec(text)?.[1] ?? Number.NaN),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
