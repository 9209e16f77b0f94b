/**
 * Runs the benches one after another, in the sizes of docs/bench.md, and writes their `RESULT` lines into a file.
 *   npm run bench -- all [--small] [--only NAME,NAME…] [--to FILE]
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { UsageError } from '../dev/process/program.ts'
import type { Progress } from '../dev/process/progress.ts'
import { systemClock } from '../src/base/clock.ts'
import { type BenchName, benches } from './benches.ts'
import { round } from './measure/statistics.ts'

/** A bench in its full size, and in one that only shows that it works. */
interface Run {
  readonly name: BenchName
  readonly full: string
  readonly small: string
}

/** The short ones first. `flame` is no part, since it writes into docs/, nor `notebooks`, which needs a program of others. */
const runs: readonly Run[] = [
  { name: 'dispatch-pass', full: '', small: '--machines 100 --queued 1000 --passes 20 --cases 20 --trace 100' },
  { name: 'ssh', full: '', small: '--rounds 5 --connections 10 --copies 1' },
  { name: 'keepers', full: '', small: '--machines 40 --taken 20 --real 2 --seconds 5 --starts 5' },
  { name: 'chaos-in-process', full: '', small: '--containers 20 --rounds 1' },
  { name: 'readers', full: '', small: '--good 200 --stuck 50 --seconds 5' },
  { name: 'worst', full: '', small: '--pairs 1 --seconds 5' },
  { name: 'tenants-authorization', full: '', small: '--tenants 20 --questions 20 --admissions 5' },
  { name: 'tenants', full: '--kill --pairs 2', small: '--tenants 20 --edits 5' },
  {
    name: 'tenants',
    full: '--tenants 1000 --platform --rest 10',
    small: '--tenants 20 --platform --edits 5 --rest 0.5',
  },
  { name: 'heirs', full: '', small: '--labs 100' },
  { name: 'images', full: '', small: '--tags 200 --refreshes 5 --requests 50' },
  { name: 'spawn', full: '--labs 100 --singles 5 --steady', small: '--labs 20 --warm-up 20 --pairs 1' },
  { name: 'spawn', full: '--labs 300 --singles 0', small: '--labs 30 --warm-up 20 --pairs 1 --singles 0' },
  {
    name: 'spawn',
    full: '--labs 60 --warm-up 60 --pairs 3 --singles 0 --with-tenants --with-apps --with-dispatch --idle --with-all',
    small: '--labs 5 --warm-up 5 --pairs 1 --singles 0 --with-apps --with-all',
  },
  { name: 'hub', full: '--pairs 5', small: '--users 10 --pairs 1' },
  { name: 'gateway', full: '', small: '--seconds 1 --rounds 1 --sockets 200 --megabytes 64' },
  { name: 'churn', full: '', small: '--users 10 --minutes 0.5 --rest 10' },
  { name: 'storm', full: '', small: '--labs 100 --warm-up 20 --per-second 50' },
  // Two processors make hardly more labs than the usual cap admits: half of it shows the cap's effect.
  { name: 'storm', full: '--labs 1000 --per-second 100', small: '--labs 50 --warm-up 20 --per-second 25' },
  { name: 'idle', full: '', small: '--labs 100 --minutes 0.5' },
  { name: 'culler', full: '', small: '--timeout 30' },
  { name: 'looks', full: '', small: '--labs 100 --minutes 0.5 --period 6 --far 20 --rest 10' },
]

const standard = fileURLToPath(new URL('../.artefacts/bench/results.txt', import.meta.url))

/** A bench that fails does not stop the others. */
export async function allBenches(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const { small, only, to } = readOptions(args)
  mkdirSync(dirname(to), { recursive: true })
  const took: Record<string, number> = {}
  const failed: string[] = []
  for (const run of runs.filter(({ name }) => only === undefined || only.includes(name))) {
    const size = small ? run.small : run.full
    const words = `${run.name} ${size}`.trim()
    const begunMs = systemClock.monotonicMs()
    progress.say(`bench ${words}`)
    try {
      const result = await benches[run.name](size.split(' ').filter(Boolean), progress, signal)
      appendFileSync(to, `RESULT ${JSON.stringify(result)}\n`)
    } catch (error) {
      if (signal.aborted) throw error
      failed.push(words)
      progress.say(`${words}: ${(error as Error).stack}`)
    }
    took[words] = round((systemClock.monotonicMs() - begunMs) / 1000, 0)
  }
  return { bench: 'all', results: to, took_s: took, failed }
}

function readOptions(args: readonly string[]): { small: boolean; only: readonly string[] | undefined; to: string } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      small: { type: 'boolean', default: false },
      only: { type: 'string' },
      to: { type: 'string', default: standard },
    },
  })
  const only = values.only?.split(',')
  const unknown = only?.find(name => !runs.some(run => run.name === name))
  if (unknown !== undefined) throw new UsageError(`--only: ${unknown} is none of them`)
  return { small: values.small, only, to: resolve(values.to) }
}
