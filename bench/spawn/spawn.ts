/**
 * Many labs at once on nodes of KWOK: Skylab and a bare loop in turns, each on a new stack. docs/bench.md explains the
 * result.
 *   npm run bench -- spawn [--labs 100] [--pairs 5] [--replicas 3] [--singles 1] [--steady] [--warm-up 100] [--kwok N]
 *     [--beside PROGRAM] [--with-tenants] [--with-apps] [--with-dispatch] [--idle] [--with-all] [--profile FOLDER]
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import { setupBench } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { round } from '../measure/statistics.ts'
import type { Usage } from '../measure/usage.ts'
import { type HalfOptions, type LoopHalf, loopHalf, type SkylabHalf, skylabHalf } from './halves.ts'
import { loopInFlight } from './loop-config.ts'
import { acceptanceFigures, acceptanceOf, type Pair, report, type WingHalves } from './report.ts'
import { type BesideName, besideNames, besides, flags } from './wings.ts'

/** Two processors make some 20 labs a second: the first pace leaves them time, the second does not. */
const steadyPaces = [10, 50]

interface Options {
  readonly labs: number
  readonly pairs: number
  readonly replicas: number
  readonly singles: number
  readonly warmUp: number
  readonly kwok: number
  readonly steady: boolean
  /** Another build of the program, measured in a half of each pair too. */
  readonly beside: string | undefined
  /** What each pair has a half beside. */
  readonly with: readonly BesideName[]
  readonly profile: string | undefined
}

export async function spawnBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  const { labs, pairs, replicas, warmUp, kwok } = options
  const tools = await setupBench(kwok, progress, signal)
  const before = machine()
  const done = await halvesOf(options, {
    labs,
    warmUp,
    replicas,
    kwok,
    profile: options.profile,
    // All halves have these addresses, so that only the engine differs. Loopback refuses each look at once.
    ...(options.with.some(name => besides[name].wings.includes('idle')) && { podRange: '127.77.0.0/16' }),
    tools,
    progress,
    signal,
  })
  const { loop } = done.pairs[0]!
  return {
    bench: 'spawn',
    conditions: {
      ...{ labs, at_once: labs, pairs, replicas, warm_up: warmUp, kwok_nodes: kwok, loop_in_flight: loopInFlight },
      objects_per_lab: loop.objectsPerLab,
      ...before,
    },
    ...report({ ...done, labs, replicas, warmUp }),
    ...(done.steady.length > 0 && { steady: done.steady.map(steadyFigures) }),
  }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      labs: { type: 'string', default: '100' },
      pairs: { type: 'string', default: '5' },
      replicas: { type: 'string', default: '3' },
      singles: { type: 'string', default: '1' },
      'warm-up': { type: 'string', default: '100' },
      kwok: { type: 'string' },
      steady: { type: 'boolean', default: false },
      beside: { type: 'string' },
      ...flags,
      profile: { type: 'string' },
    },
  })
  const [labs, pairs, warmUp] = [Number(values.labs), Number(values.pairs), Number(values['warm-up'])]
  const kwok = Number(values.kwok ?? nodesFor(labs + warmUp))
  const singles = Math.min(pairs, Number(values.singles))
  const { steady, profile } = values
  const named = besideNames.filter(name => values[besides[name].flag])
  const beside = values.beside && resolve(values.beside)
  const replicas = Number(values.replicas)
  return { labs, pairs, replicas, singles, warmUp, kwok, steady, beside, with: named, profile }
}

interface Done {
  readonly pairs: readonly Pair[]
  /** Halves of another build, one in each pair. */
  readonly beside: readonly SkylabHalf[]
  readonly wings: readonly WingHalves[]
  readonly singles: readonly SkylabHalf[]
  /** One for each pace, or none. */
  readonly steady: readonly Steady[]
}

interface Steady {
  readonly perSecond: number
  readonly half: SkylabHalf
}

/** The last pair removes its labs too. */
async function halvesOf(
  { pairs, singles, steady, beside, with: named, profile, labs }: Options,
  common: Omit<HalfOptions, 'removes' | 'wings'>,
): Promise<Done> {
  const { progress } = common
  const half = <T>(make: (options: HalfOptions) => Promise<T>, name: string, changes: Partial<HalfOptions> = {}) => {
    const folder = profile && join(profile, name.replaceAll(/\W+/g, '-'))
    return progress.part(name, () => make({ ...common, removes: false, profile: folder, ...changes }))
  }
  const done = {
    pairs: [] as Pair[],
    beside: [] as SkylabHalf[],
    wings: named.map(name => ({ name, halves: [] as SkylabHalf[] })),
    singles: [] as SkylabHalf[],
    steady: [] as Steady[],
  }
  for (let number = 1; number <= pairs; number++) {
    const removes = number === pairs
    const first = number % 2 === 1 ? 'skylab' : 'loop'
    const ours = () => half(skylabHalf, `skylab ${number}`, { removes })
    const early = first === 'skylab' ? await ours() : undefined
    const other = beside && (await half(skylabHalf, `beside ${number}`, { program: beside }))
    if (other) done.beside.push(other)
    for (const { name, halves } of done.wings) {
      halves.push(await half(skylabHalf, `with ${name} ${number}`, { wings: besides[name].wings }))
    }
    const loop = await half(loopHalf, `loop ${number}`, { removes })
    const skylab = early ?? (await ours())
    done.pairs.push({ skylab, loop, first })
    progress.say(phraseOf(skylab, loop, labs))
    if (number > singles) continue
    done.singles.push(await half(skylabHalf, `one replica ${number}`, { replicas: 1 }))
    progress.say(phraseOf(done.singles.at(-1)!, loop, labs))
  }
  for (const perSecond of steady ? steadyPaces : []) {
    done.steady.push({ perSecond, half: await half(skylabHalf, `steady ${perSecond}`, { perSecond }) })
  }
  return done
}

/** Labs requested at an even pace, which need not be the pace at which they can be made. */
function steadyFigures({ perSecond, half }: Steady): object {
  const { result, usage } = half.created
  const usedS = Object.values(usage).reduce((sum, seconds) => sum + seconds, 0)
  return {
    per_s: perSecond,
    ...acceptanceFigures([half]),
    bare_beside_ms: acceptanceOf([half.bareBeside!]),
    labs_per_s: round(result.outcomes.length / result.seconds, 2),
    processors_busy: round(usedS / result.seconds, 2),
  }
}

function phraseOf({ created }: SkylabHalf, loop: LoopHalf, labs: number): string {
  const [ours, theirs] = [labs / created.result.seconds, labs / loop.created.result]
  const cpuMs = ({ usage }: { usage: Usage }, name: string) => round(((usage[name] ?? 0) * 1000) / labs, 1)
  const rates = `${round(ours, 1)} labs/s against ${round(theirs, 1)} (${round(ours / theirs, 2)})`
  return `  ${rates}, ${cpuMs(created, 'replicas')} ms of CPU per lab against ${cpuMs(loop.created, 'loop')}`
}
