/**
 * Many labs at once on nodes of KWOK, then all removed: Skylab and a bare loop in turns on the same cluster.
 * docs/bench.md explains the result.
 *   npm run bench -- spawn [--labs 100] [--pairs 5] [--replicas 3] [--steady] [--kwok N] [--profile FOLDER]
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import { round } from '../measure/statistics.ts'
import { peakMib, type Usage } from '../measure/usage.ts'
import { type BenchStack, openBenchStack } from './bench-stack.ts'
import { bareAcceptance, type LoopHalf, loopHalf, type SkylabHalf, skylabHalf } from './halves.ts'
import { acceptanceOf, report } from './report.ts'

const loopInFlight = 32
/** The first labs of a process pay for code that is compiled once. */
const warmUpLabs = 30
const steadyPerSecond = 50
const labsPerNode = 110

interface Options {
  readonly labs: number
  readonly pairs: number
  readonly replicas: number
  readonly kwok: number
  readonly steady: boolean
  readonly profile: string | undefined
}

export async function spawnBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  const bench = await openBenchStack({ ...options, inFlight: loopInFlight, progress, signal })
  // Pending waits end when the processes are closed.
  const interrupted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  try {
    return await Promise.race([spawnFigures(bench, options, progress), interrupted])
  } finally {
    await progress.part('take down', () => bench.close())
  }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      labs: { type: 'string', default: '100' },
      pairs: { type: 'string', default: '5' },
      replicas: { type: 'string', default: '3' },
      kwok: { type: 'string' },
      steady: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const labs = Number(values.labs)
  const kwok = Number(values.kwok ?? Math.ceil(labs / labsPerNode))
  const { steady, profile } = values
  return { labs, pairs: Number(values.pairs), replicas: Number(values.replicas), kwok, steady, profile }
}

async function spawnFigures(bench: BenchStack, options: Options, progress: Progress): Promise<object> {
  const { labs, pairs, replicas, kwok } = options
  const { stack, urls } = bench
  await progress.part('warm-up', () => warmUp(bench))
  const done = []
  for (let number = 1; number <= pairs; number++) {
    done.push(await progress.part(`pair ${number} of ${pairs}`, () => pair(bench, (pairs - number) % 2 === 0)))
    const { skylab, loop } = done.at(-1)!
    progress.say(phraseOf(skylab, loop, labs))
  }
  const lastLoop = done.at(-1)!.loop
  const steady = options.steady && (await progress.part('steady acceptance', () => steadyAcceptance(bench)))
  const peaks = stack.replicas.map(({ pid }) => peakMib(pid))
  await bench.leaveOne()
  const one = await progress.part('one replica', () => skylabHalf(bench, urls.one))
  progress.say(phraseOf(one, lastLoop, labs))
  return {
    bench: 'spawn',
    conditions: {
      ...{ labs, at_once: labs, pairs, replicas, kwok_nodes: kwok, loop_in_flight: loopInFlight },
      objects_per_lab: bench.objectsPerLab,
      cpus: availableParallelism(),
      node: process.version,
    },
    ...report(done, labs),
    ...(steady && { steady }),
    one_replica: report([{ skylab: one, loop: lastLoop, bare: undefined }], labs),
    peak_mib: { replicas: peaks, one_replica: peakMib(stack.replicas[0]!.pid) },
  }
}

async function warmUp(bench: BenchStack): Promise<void> {
  await skylabHalf(bench, bench.urls.all, { users: bench.users.slice(0, warmUpLabs) })
  await bareAcceptance(bench)
}

/** The two alternate in beginning; the last pair ends with the loop, before the half with one replica. */
async function pair(bench: BenchStack, skylabFirst: boolean) {
  const bare = await bareAcceptance(bench)
  const first = skylabFirst ? await skylabHalf(bench, bench.urls.all) : undefined
  const loop = await loopHalf(bench)
  return { skylab: first ?? (await skylabHalf(bench, bench.urls.all)), loop, bare }
}

/** Labs requested at an even pace, which need not be the pace at which they can be made. */
async function steadyAcceptance(bench: BenchStack): Promise<object> {
  const bare = await bareAcceptance(bench, steadyPerSecond)
  const { created } = await skylabHalf(bench, bench.urls.all, { perSecond: steadyPerSecond })
  return {
    per_s: steadyPerSecond,
    accept_ms: acceptanceOf([created.result]),
    bare_accept_ms: acceptanceOf([bare]),
    labs_per_s: round(created.result.outcomes.length / created.result.seconds, 2),
  }
}

function phraseOf({ created }: SkylabHalf, loop: LoopHalf, labs: number): string {
  const [ours, theirs] = [labs / created.result.seconds, labs / loop.created.result]
  const cpuMs = ({ usage }: { usage: Usage }, name: string) => round(((usage[name] ?? 0) * 1000) / labs, 1)
  const rates = `${round(ours, 1)} labs/s against ${round(theirs, 1)} (${round(ours / theirs, 2)})`
  return `  ${rates}, ${cpuMs(created, 'replicas')} ms of CPU per lab against ${cpuMs(loop.created, 'loop')}`
}
