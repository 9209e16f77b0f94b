/**
 * Keepers of many machines: how long a take-over takes, what they cost at rest, and how soon a container starts on an idle
 * machine. docs/bench.md explains the result.
 *   npm run bench -- keepers [--machines 1000] [--taken 300] [--real 10] [--seconds 60] [--starts 100] [--profile FOLDER]
 */
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { profiled } from '../measure/profiled.ts'
import { type Commands, commandsBetween, commandsOf } from '../measure/redis.ts'
import { median, percentile, round } from '../measure/statistics.ts'
import { cpuSeconds, memoryOf } from '../measure/usage.ts'
import { nowMs } from './now.ts'
import { killed, ownedBy, Site } from './site.ts'

const defaults = { machines: 1000, taken: 300, real: 10, seconds: 60, starts: 100 }
type Options = typeof defaults

/** Until a replica that was busy is at rest. */
const restMs = 20_000
const engine = configSchema.shape.engine.parse({})
/** The goal: a lease, a look for those without an owner, and 2 s. */
const limitS = (engine.leaseTtlMs + engine.scanIntervalMs) / 1000 + 2

export async function keepersBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const { options, profile } = readOptions(args)
  const conditions = machine()
  const figures = await Site.with({ progress, signal, profile }, site => measure(site, options, { progress, profile }))
  return { bench: 'keepers', ...conditions, options, ...figures }
}

interface Scene {
  readonly progress: Progress
  readonly profile: string | undefined
}

async function measure(site: Site, options: Options, { progress, profile }: Scene): Promise<object> {
  const { machines, taken, real } = options
  await progress.part(`${taken} machines`, async () => {
    await site.addReal(real)
    await site.addPlayed(taken - real)
  })
  const first = await site.startReplica()
  await progress.part('their keepers', () => site.kept(first, taken))
  const second = await site.startReplica()
  const without = await progress.part('a replica without machines', () => atRest(site, second, options.seconds))
  const some = await progress.part(`take-over of ${taken}`, () => takeOver(site, first, second, taken))
  await progress.part(`${machines} machines`, async () => {
    await site.addPlayed(machines + real - taken)
    await site.kept(second, machines + real)
  })
  const idle = await progress.part('idle keepers', () =>
    profiled(profile, [second], () => atRest(site, second, options.seconds)),
  )
  const starts = await progress.part('starts', () => profiled(profile, [second], () => startAll(site, options)))
  const third = await site.startReplica()
  const all = await progress.part('take-over of all', () => takeOver(site, second, third, machines + real))
  return {
    limit_s: limitS,
    take_over: some,
    take_over_of_all: all,
    idle: { ...idle, without, memory_kib_each: eachKib(without, idle, machines + real) },
    ...starts,
  }
}

/** @param heir keeps nothing yet */
async function takeOver(site: Site, victim: Replica, heir: Replica, count: number): Promise<object> {
  const owned = { killed: await ownedBy(victim), heir: await ownedBy(heir) }
  const beforeS = cpuSeconds(heir.pid)
  const sinceMs = await killed(victim)
  await site.kept(heir, count, sinceMs)
  const { played, real } = await site.hellos(sinceMs)
  const seconds = [...played, ...real].map(at => (at - sinceMs) / 1000)
  return {
    ...{ owned, taken_over: seconds.length },
    ...{ p50_s: round(median(seconds), 2), p99_s: round(percentile(seconds, 0.99), 2) },
    ...{ last_s: round(Math.max(...seconds), 2), by_limit: round(Math.max(...seconds) / limitS, 2) },
    last_real_s: round(Math.max(...real.map(at => (at - sinceMs) / 1000)), 2),
    // The heir has one thread: its processor time from the kill on.
    processor_s: round(cpuSeconds(heir.pid) - beforeS, 1),
  }
}

interface Rest {
  readonly core_share: number
  readonly machines_core_share: number
  readonly redis_core_share: number
  readonly redis_commands_per_s: number
  readonly most_frequent_per_s: Commands
  readonly rss_mib: number
}

async function atRest(site: Site, replica: Replica, seconds: number): Promise<Rest> {
  await systemClock.sleep(restMs)
  const read = async () => ({
    atMs: nowMs(),
    cpu: cpuSeconds(replica.pid),
    machines: cpuSeconds(site.worker.pid),
    redis: await redisSeconds(site),
    commands: await commandsOf(site.redis),
  })
  const before = await read()
  await systemClock.sleep(seconds * 1000)
  const after = await read()
  const passedS = (after.atMs - before.atMs) / 1000
  const calls = Object.entries(commandsBetween(before.commands, after.commands))
  const perSecond = (count: number) => round(count / passedS, 1)
  const most = calls.toSorted((a, b) => b[1] - a[1]).slice(0, 6)
  return {
    core_share: round((after.cpu - before.cpu) / passedS, 4),
    machines_core_share: round((after.machines - before.machines) / passedS, 4),
    redis_core_share: round((after.redis - before.redis) / passedS, 4),
    redis_commands_per_s: perSecond(calls.reduce((sum, [, count]) => sum + count, 0)),
    most_frequent_per_s: Object.fromEntries(most.map(([name, count]) => [name, perSecond(count)])),
    rss_mib: round(memoryOf(replica.pid).nowMib, 1),
  }
}

async function redisSeconds({ redis }: Site): Promise<number> {
  const text = await redis.info('cpu')
  const of = (name: string) => Number(new RegExp(`^used_cpu_${name}:(\\S+)`, 'm').exec(text)?.[1])
  return of('user') + of('sys')
}

const eachKib = (without: Rest, idle: Rest, count: number) =>
  round(((idle.rss_mib - without.rss_mib) * 1024) / count, 1)

/** One after another, each on an idle machine, from the request until the machine gets the start. */
async function startAll(site: Site, { starts, real }: Options): Promise<object> {
  const at = site.replicas.length - 1
  const started: number[] = []
  for (let i = 0; i < starts; i += 1) {
    const sinceMs = nowMs()
    const uuid = await site.client.submit({ command: ['true'], vcpus: 1 }, at)
    await ended(site, uuid)
    started.push((await site.start(uuid)) - sinceMs)
  }
  const words: number[] = []
  for (let i = 0; i < Math.min(starts, 2 * real); i += 1) {
    const sinceMs = nowMs()
    const uuid = await site.client.submit({ command: ['date', '+%s.%N'], vcpus: 4 }, at)
    await ended(site, uuid)
    words.push(Number(await site.client.output(uuid)) * 1000 - sinceMs)
  }
  return { start_ms: spread(started), first_word_of_real_ms: spread(words) }
}

const ended = (site: Site, uuid: string) =>
  site.until(`the end of ${uuid}`, async () => (await site.client.find(uuid)).state === 'Complete')

const spread = (values: readonly number[]) => ({
  ...{ p50: round(median(values), 1), p99: round(percentile(values, 0.99), 1), max: round(Math.max(...values), 1) },
})

function readOptions(args: readonly string[]): { readonly options: Options; readonly profile: string | undefined } {
  const at = args.indexOf('--profile')
  const numbers = at < 0 ? args : args.toSpliced(at, 2)
  const { values } = parseArgs({ args: at < 0 ? [] : args.slice(at, at + 2), options: { profile: { type: 'string' } } })
  return { options: numbersOf(numbers, defaults), profile: values.profile }
}
