/**
 * The idle engine beside thousands of labs at rest, whose Jupyter servers are pretended. docs/bench.md explains the result.
 *   npm run bench -- looks [--labs 10000] [--replicas 3] [--minutes 5] [--period 60] [--far 300] [--rest 150] [--hung 1000]
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { applyRights } from '../../dev/stack/stack.ts'
import { systemClock } from '../../src/base/clock.ts'
import { readConfig } from '../../src/settings/config-file.ts'
import { settle, setupBench, withBenchStack } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { type Metrics, metricsOf } from '../measure/metrics.ts'
import { numbersOf } from '../measure/options.ts'
import { round } from '../measure/statistics.ts'
import type { Worker } from '../measure/worker.ts'
import { fillLabs, type StandingContext, startReplica, untilCompared } from '../standing/labs.ts'
import { giveCredentials } from './credentials.ts'
import type { FakesQuestion } from './fakes.ts'
import { type PhaseFigures, phase } from './phase.ts'

const defaults = {
  labs: 10_000,
  replicas: 3,
  minutes: 5,
  period: 60,
  far: 300,
  rest: 150,
  hung: 1000,
  refused: 50,
  busy: 500,
}

type Options = typeof defaults

/** Loopback as a whole is this machine, so that no address must be added, and nothing needs root. */
const podRange = '127.77.0.0/16'
/** The annotations of first looks wait for a slow API server. */
const limitMs = 1_800_000
const pollMs = 5000
/** The age from which on a first look writes annotations, and some more. */
const stampedAgeMs = 310_000

interface Scene extends StandingContext {
  readonly options: Options
  readonly fakes: Worker
}

export async function looksBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const kwok = nodesFor(options.labs)
  const tools = await setupBench(kwok, progress, signal)
  const conditions = { ...options, kwok_nodes: kwok, ...machine() }
  const context = { tools, progress, signal, kwok, users: options.labs, replicas: 0, podRange }
  const figures = await withBenchStack(context, bench => looks({ bench, options, progress, signal }))
  return { bench: 'looks', conditions, ...figures }
}

async function looks(context: Omit<Scene, 'fakes'>): Promise<object> {
  const { bench, options, progress, signal } = context
  const fakes = bench.worker(new URL('fakes.ts', import.meta.url), 'fakes')
  await fakes.ask({ do: 'listen' } satisfies FakesQuestion)
  const scene = { ...context, fakes }
  const fillSeconds = await progress.part(`${options.labs} labs`, () => fillLabs(bench, { bare: true }))
  const filledMs = systemClock.monotonicMs()
  await settle(bench, signal)
  const off = await progress.part('without the idle engine', () => withoutIdle(scene))
  await systemClock.sleep(Math.max(0, filledMs + stampedAgeMs - systemClock.monotonicMs()), signal)
  const far = await progress.part('far from their ends', () => farFromEnds(scene))
  const { near, hung } = await nearEnds(scene)
  const phases = { off, far, near, hung }
  return { fill_s: round(fillSeconds, 1), ...phases, ...summary(phases) }
}

/** The usual replicas. The labs' records get what the end of a creation writes. */
async function withoutIdle(scene: Scene): Promise<PhaseFigures> {
  const { bench, options, signal } = scene
  const replicas = await startAll(scene, 'off', bench.stack.configFile)
  await untilCompared(replicas, options.labs, signal)
  await giveCredentials(bench)
  await settle(bench, signal)
  await systemClock.sleep(options.rest * 1000, signal)
  return ended(replicas, await measure(scene, replicas, 1, options.far))
}

/** All are idle, and checked in each rest period. The first looks write annotations. */
async function farFromEnds(scene: Scene): Promise<PhaseFigures> {
  const { options } = scene
  const replicas = await startAll(scene, 'far', await configWith(scene, options.far))
  const beganMs = systemClock.monotonicMs()
  await untilAllSeen(scene, replicas)
  const stamped_s = round((systemClock.monotonicMs() - beganMs) / 1000, 0)
  return { ...(await ended(replicas, await measure(scene, replicas, options.minutes, options.far))), stamped_s }
}

/** Each is checked in each check period: without the rest period nothing else is. Then some hang. */
async function nearEnds(scene: Scene): Promise<{ near: PhaseFigures; hung: PhaseFigures }> {
  const { options, fakes, progress, signal } = scene
  const { period, hung, refused, busy, labs } = options
  const replicas = await startAll(scene, 'near', await configWith(scene, period))
  const near = await progress.part('near their ends', async () => {
    // Their next looks are up to a rest period away.
    await systemClock.sleep(options.far * 1000, signal)
    return measure(scene, replicas, options.minutes, period)
  })
  const share = (count: number) => Math.min(count, Math.floor((labs * count) / defaults.labs))
  const as = { hung: share(hung), refused: share(refused), busy: share(busy) }
  await fakes.ask({ do: 'behave', as } satisfies FakesQuestion)
  const during = await progress.part('onset', () => measure(scene, replicas, options.minutes, period))
  return { near, hung: { ...(await ended(replicas, during)), as } }
}

const measure = ({ bench, fakes, signal }: Scene, replicas: readonly Replica[], minutes: number, period: number) =>
  phase({ bench, replicas, fakes, seconds: minutes * 60, periodMs: period * 1000, signal })

async function startAll(scene: Scene, name: string, configFile: string): Promise<readonly Replica[]> {
  const names = Array.from({ length: scene.options.replicas }, (_, index) => `replica-${name}-${index + 1}`)
  const started = await Promise.all(names.map(each => startReplica(scene, each, configFile)))
  return started.map(({ replica }) => replica)
}

async function ended(replicas: readonly Replica[], figures: PhaseFigures): Promise<PhaseFigures> {
  await Promise.all(replicas.map(replica => replica.stop()))
  return figures
}

/** Nobody is stopped: the time-out is a day, which begins with the first look. */
async function configWith({ bench: { stack, stateDir }, options }: Scene, rest: number): Promise<string> {
  const config = parse(await readFile(stack.configFile, 'utf8')) as ConfigInput
  const idle: ConfigInput['idle'] = {
    ...{ enabled: true, checkPeriodSeconds: options.period, restPeriodSeconds: rest },
    rules: [{ name: 'all', idleTimeoutSeconds: 86_400 }],
  }
  const file = join(stateDir, `skylab-${rest}.yaml`)
  await writeFile(file, stringify({ ...config, idle }, { version: '1.1' }), { mode: 0o600 })
  await applyRights(stack.cluster, await readConfig(file))
  return file
}

/** Waits until each was looked at, and its first annotations are written. */
async function untilAllSeen({ options, signal }: Scene, replicas: readonly Replica[]): Promise<void> {
  let written = 0
  const isDone = async () => {
    const metrics = await Promise.all(replicas.map(metricsOf))
    const sum = (key: string) => metrics.reduce((all, each) => all + (each.get(key) ?? 0), 0)
    const before = written
    written = metrics.reduce((all, each) => all + patchesOf(each), 0)
    await systemClock.sleep(pollMs, signal)
    return sum('skylab_idle_checks_total{kind="lab",result="seen"}') >= options.labs && written === before
  }
  await waitUntil(isDone, { what: 'a look at each lab', limitMs, signal })
}

const patch = /^skylab_kubernetes_request_duration_seconds_count\{verb="patch"/i

const patchesOf = (metrics: Metrics): number =>
  [...metrics].reduce((sum, [key, value]) => (patch.test(key) ? sum + value : sum), 0)

/** What the engine costs: processor time and memory beyond those of replicas without it. */
function summary({ off, far, near, hung }: Readonly<Record<'off' | 'far' | 'near' | 'hung', PhaseFigures>>): object {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const perCheck = (each: PhaseFigures) =>
    round(((each.cpu_s - (off.cpu_s * each.seconds) / off.seconds) * 1000) / each.checks, 2)
  const more = (each: PhaseFigures) => Math.round(mean(each.mib.at_most) - mean(off.mib.at_most))
  return {
    cpu_ms_per_check: { far: perCheck(far), near: perCheck(near), hung: perCheck(hung) },
    more_mib: { far: more(far), near: more(near), hung: more(hung) },
  }
}
