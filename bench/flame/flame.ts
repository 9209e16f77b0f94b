/**
 * Draws docs/flame-after.svg, the processor time of replicas that make labs at once, and docs/flame-before.svg by another
 * checkout. docs/bench.md explains the result.
 *   npm run bench -- flame [--before CHECKOUT] [--labs 100] [--replicas 3] [--warm-up 100] [--from FOLDER]
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle } from '../../dev/image/bundle.ts'
import { drawFlame, kindOf } from '../../dev/pictures/draw-flame.ts'
import { type CpuProfile, type Frame, mergeProfiles, selfBy } from '../../dev/pictures/flame-tree.ts'
import { sourceNames } from '../../dev/pictures/source-names.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { setupBench } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { round } from '../measure/statistics.ts'
import { type HalfOptions, skylabHalf } from '../spawn/halves.ts'

interface Options {
  readonly labs: number
  readonly replicas: number
  readonly warmUp: number
  /** A checkout with its `node_modules`, whose rooms are those of this one. */
  readonly before: string | undefined
  /** The folder of profiles of an earlier run: draw those, and measure nothing. */
  readonly from: string | undefined
}

type Build = 'before' | 'after'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const kept = join(checkout, '.artefacts', 'flame')
/** Places in the result. */
const places = 25

export async function flameBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  const { labs, replicas, warmUp, before, from } = options
  const conditions = { labs, replicas, warm_up: warmUp, ...machine() }
  if (from === undefined) {
    const kwok = nodesFor(labs + warmUp)
    const tools = await setupBench(kwok, progress, signal)
    rmSync(kept, { recursive: true, force: true })
    const half = { tools, progress, signal, kwok, labs, replicas, warmUp, removes: false }
    if (before !== undefined) await profiled('before', resolve(before), half)
    await profiled('after', checkout, half)
  }
  return { bench: 'flame', conditions, ...draw(from ?? kept, labs) }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      before: { type: 'string' },
      labs: { type: 'string', default: '100' },
      replicas: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '100' },
      from: { type: 'string' },
    },
  })
  const { labs, replicas, before, from } = values
  return { labs: Number(labs), replicas: Number(replicas), warmUp: Number(values['warm-up']), before, from }
}

/** Builds a checkout's program with source maps, and leaves profiles of its replicas in the folder of this build. */
async function profiled(build: Build, root: string, half: Omit<HalfOptions, 'program' | 'profile'>): Promise<void> {
  const folder = join(kept, build)
  mkdirSync(folder, { recursive: true })
  const program = await bundle({ dir: folder, root, maps: true })
  await half.progress.part(build, () => skylabHalf({ ...half, program, profile: folder }))
}

/** Both pictures have the same scale. */
function draw(folder: string, labs: number): object {
  const builds = (['before', 'after'] as const).filter(build => existsSync(join(folder, build)))
  const trees = builds.map(build => [build, treeOf(join(folder, build), labs)] as const)
  const fullMs = Math.max(...trees.map(([, { totalMs }]) => totalMs))
  for (const [build, tree] of trees) {
    const title = `Processor time of the replicas for a lab, ${build}: ${tree.totalMs.toFixed(1)} ms, ${labs} labs at once`
    const description = `Flame graph: callers below, callees above, wide as their time. ${words(tree)}.`
    writeFileSync(join(checkout, 'docs', `flame-${build}.svg`), drawFlame(tree, { title, description, fullMs }))
  }
  return Object.fromEntries(trees.map(([build, tree]) => [build, figuresOf(tree)]))
}

function treeOf(folder: string, labs: number): Frame {
  const files = globSync('replica-*.cpuprofile', { cwd: folder })
  const profiles = files.map(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile)
  return mergeProfiles(profiles, labs, sourceNames())
}

const words = (tree: Frame): string =>
  selfBy(tree, kindOf)
    .map(([kind, ms]) => `${kind} ${ms.toFixed(1)} ms`)
    .join(', ')

/** Milliseconds for a lab, in frames themselves. Native functions are places of their own. */
function figuresOf(tree: Frame): object {
  const rounded = (sums: readonly (readonly [string, number])[]) =>
    Object.fromEntries(sums.map(([name, ms]) => [name, round(ms, 2)]))
  return {
    cpu_ms_per_lab: round(tree.totalMs, 1),
    by_kind: rounded(selfBy(tree, kindOf)),
    by_place: rounded(selfBy(tree, ({ name, place }) => (place === 'native' ? name : place)).slice(0, places)),
  }
}
