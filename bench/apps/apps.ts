/**
 * Many apps declared at once: three replicas, and a bare loop that writes the same, each on a new cluster with nodes of KWOK.
 * docs/bench.md explains the result.
 *   npm run bench -- apps [--apps 100] [--pairs 1] [--kill] [--scope CHANGES] [--rest MINUTES] [--replicas 3] [--profile FOLDER]
 */
import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import { setup } from '../../dev/setup/setup.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type AuditedRequest, controllerRequests } from '../measure/audit.ts'
import type { BenchContext } from '../measure/bench-stack.ts'
import { machine } from '../measure/machine.ts'
import { profiled, profilerArgs } from '../measure/profiled.ts'
import { type Commands, commandsBetween, commandsOf } from '../measure/redis.ts'
import { median, round, tally } from '../measure/statistics.ts'
import { cpuSeconds, type Memory, memoryOf } from '../measure/usage.ts'
import { restFigures, turnsOf } from '../tenants/rest.ts'
import { duplicates, lanes, type Made, makeByLoop, makeBySkylab } from './make.ts'
import { scopeFigures } from './scope.ts'
import { withSite } from './site.ts'

/** Late watches and statuses end before anything else is measured. */
const settleMs = 5_000

interface Options {
  readonly apps: number
  readonly pairs: number
  readonly kill: boolean
  readonly scope: number
  readonly rest: number
  readonly replicas: number
  readonly profile: string | undefined
}

/** Only the last half looks at more than how apps are made. */
const noMore = { rest: 0, scope: 0, profile: undefined }

interface SkylabHalf {
  readonly made: Made
  readonly memory: readonly Memory[]
  readonly cpu: number
  readonly requests: readonly AuditedRequest[]
  readonly commands: Commands
  readonly turns: Commands
  readonly duplicates: number
  readonly scope: object | undefined
  readonly rest: object | undefined
}

export async function appsBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  const tools = await setup(['cluster', 'redis', 'kubectl'], progress, signal)
  const context: BenchContext = { tools, progress, signal }
  const [ours, loops, killed]: [SkylabHalf[], Made[], SkylabHalf[]] = [[], [], []]
  for (let number = 1; number <= options.pairs; number++) {
    const more = number === options.pairs ? {} : noMore
    const half = () =>
      progress.part(`skylab ${number}`, () => skylabHalf(context, { ...options, ...more, kill: false }))
    if (number % 2 === 1) ours.push(await half())
    const loop = () => withSite(context, site => makeByLoop(site, options.apps))
    loops.push(await progress.part(`loop ${number}`, loop))
    if (number % 2 === 0) ours.push(await half())
    if (options.kill)
      killed.push(await progress.part(`killed ${number}`, () => skylabHalf(context, { ...options, ...noMore })))
  }
  const { apps, replicas, pairs } = options
  const conditions = { apps, replicas, pairs, loop_in_flight: lanes, ...machine() }
  return { bench: 'apps', conditions, ...report(options, ours, loops, killed) }
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      apps: { type: 'string', default: '100' },
      pairs: { type: 'string', default: '1' },
      replicas: { type: 'string', default: '3' },
      scope: { type: 'string', default: '0' },
      rest: { type: 'string', default: '0' },
      kill: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const { kill, profile } = values
  const [apps, pairs, replicas] = [Number(values.apps), Number(values.pairs), Number(values.replicas)]
  return { apps, pairs, replicas, scope: Number(values.scope), rest: Number.parseFloat(values.rest), kill, profile }
}

const skylabHalf = (
  context: BenchContext,
  { apps, replicas: count, kill, rest, scope, profile }: Options,
): Promise<SkylabHalf> =>
  withSite({ ...context, nodeArgs: profilerArgs(profile) }, async site => {
    const { auditLog, redis } = site
    const { signal } = context
    const replicas = await site.start(count)
    await systemClock.sleep(settleMs, signal)
    const from = statSync(auditLog).size
    const before = await commandsOf(redis)
    const turnsBefore = await turnsOf(replicas)
    const own = () => replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
    const cpuBefore = own()
    const make = () => makeBySkylab(site, apps, killer(kill, apps, replicas, context))
    const made = await profiled(profile, replicas, make)
    const cpu = kill ? 0 : own() - cpuBefore
    await systemClock.sleep(settleMs, signal)
    const alive = kill ? replicas.slice(0, 1) : replicas
    const [commands, turns, requests] = [
      commandsBetween(before, await commandsOf(redis)),
      commandsBetween(turnsBefore, await turnsOf(alive)),
      await controllerRequests(auditLog, from),
    ]
    const memory = replicas.map(({ pid }) => memoryOf(pid))
    const found = await duplicates(site, apps)
    const resting = rest > 0 ? await restFigures(site, replicas, rest) : undefined
    const scoped = scope > 0 ? await scopeFigures(site, scope) : undefined
    return { made, memory, cpu, requests, commands, turns, duplicates: found, rest: resting, scope: scoped }
  })

function killer(kill: boolean, apps: number, replicas: readonly Replica[], { progress }: BenchContext) {
  let isDone = !kill
  return (ready: number) => {
    if (isDone || ready < apps / 2) return
    isDone = true
    for (const replica of replicas.slice(1)) replica.kill()
    progress.say(`  ${replicas.length - 1} replicas killed at ${ready} apps`)
  }
}

const changing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])
const writesOf = ({ requests }: SkylabHalf) => requests.filter(({ verb, dryRun }) => changing.has(verb) && !dryRun)

function report({ apps }: Options, ours: SkylabHalf[], loops: Made[], killed: SkylabHalf[]): object {
  const last = ours.at(-1)!
  const ratios = ours.map(({ made }, index) => made.seconds / loops[index]!.seconds)
  const perApp = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, round(count / apps, 2)]))
  return {
    seconds: ours.map(({ made }) => round(made.seconds, 1)),
    loop_seconds: loops.map(({ seconds }) => round(seconds, 1)),
    ratio: round(median(ratios), 2),
    writes_per_app: round(writesOf(last).length / apps, 2),
    by_verb: perApp(
      tally(
        last.requests.map(
          ({ verb, resource, code, dryRun }) => `${verb}${dryRun ? ' (dry run)' : ''} ${resource} ${code}`,
        ),
      ),
    ),
    redis_per_app: perApp(last.commands),
    turns_per_app: perApp(last.turns),
    cpu_ms_per_app: round((median(ours.map(({ cpu }) => cpu)) * 1000) / apps, 1),
    memory_mib: last.memory.map(({ nowMib }) => Math.round(nowMib)),
    duplicates: ours.map(half => half.duplicates),
    ...(killed.length > 0 && {
      killed_seconds: killed.map(({ made }) => round(made.seconds, 1)),
      killed_duplicates: killed.map(half => half.duplicates),
    }),
    ...(last.scope && { scope: last.scope }),
    ...(last.rest && { rest: last.rest }),
  }
}
