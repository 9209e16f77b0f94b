/** Computes the figures of the result from the halves. */

import { median, percentile, round, tally } from '../measure/statistics.ts'
import type { Usage } from '../measure/usage.ts'
import type { HubHalf } from './half.ts'
import type { Spawner } from './site.ts'

export type HubPair = Readonly<Record<Spawner, HubHalf>>

/** Processes of Skylab only, which work only while labs are made or removed. */
const controller = ['replicas', 'balancer', 'redis'] as const
/** Processes that play users and labs. */
const tools = ['load', 'stub']

/** Medians over the pairs unless a name says otherwise; a ratio is the median of each pair's ratio. */
export function hubReport(pairs: readonly HubPair[], users: number): object {
  const of = (spawner: Spawner) =>
    figuresOf(
      pairs.map(pair => pair[spawner]),
      users,
    )
  return {
    skylab: of('skylab'),
    kubespawner: of('kubespawner'),
    hooks: of('hooks'),
    skylab_by_kubespawner: ratiosOf(pairs, 'kubespawner', users),
    skylab_by_hooks: ratiosOf(pairs, 'hooks', users),
  }
}

function figuresOf(halves: readonly HubHalf[], users: number): object {
  const of = (figure: (half: HubHalf) => number, places?: number) => round(median(halves.map(figure)), places)
  return {
    ready_s: spread(halves, ({ spawned }) => spawned.readyMs.map(ms => ms / 1000), 2),
    accept_ms: spread(halves, ({ spawned }) => spawned.acceptMs, 0),
    spawned_s: of(({ spawned }) => spawned.seconds, 2),
    spawns_per_s: of(({ spawned }) => users / spawned.seconds, 1),
    hub: hubFiguresOf(halves, users),
    controller_cpu_ms_per_spawn: byName(halves, controller, users),
    replicas_mib: {
      before: of(({ replicasMib }) => replicasMib.before, 0),
      after: of(({ replicasMib }) => replicasMib.after, 0),
    },
    others_cpu_ms_per_spawn: byName(halves, othersIn(halves), users),
    objects_per_spawn: of(({ objects }) => objects / users, 1),
    events_per_spawn: of(({ spawned }) => spawned.events / users, 1),
    stopped: {
      seconds: of(({ stopped }) => stopped.seconds, 2),
      hub_cpu_ms_per_stop: of(({ stopped }) => cpuMs(stopped.usage, ['hub'], users), 1),
      controller_cpu_ms_per_stop: of(({ stopped }) => cpuMs(stopped.usage, controller, users), 1),
    },
    outcomes: tally(halves.flatMap(({ spawned }) => spawned.outcomes)),
    warnings: tally(halves.flatMap(({ warnings }) => warnings.map(placeOf))),
  }
}

function hubFiguresOf(halves: readonly HubHalf[], users: number): object {
  const of = (figure: (half: HubHalf) => number) => round(median(halves.map(figure)), 1)
  const cpu = (half: HubHalf) => cpuMs(half.usage, ['hub'], users)
  return {
    cpu_ms_per_spawn: of(cpu),
    each: halves.map(half => round(cpu(half), 1)),
    mib: {
      before: of(({ memory }) => memory.before.nowMib),
      after: of(({ memory }) => memory.after.nowMib),
      peak: of(({ memory }) => memory.after.peakMib),
    },
    kib_per_spawn: {
      after: of(half => kibPerSpawn(half, 'nowMib', users)),
      peak: of(half => kibPerSpawn(half, 'peakMib', users)),
    },
    answers_ms: spread(halves, ({ spawned }) => spawned.healthMs, 0),
  }
}

const shares = [
  ['p50', 0.5],
  ['p95', 0.95],
  ['max', 1],
] as const

/** Medians of each half's own percentiles. */
function spread(halves: readonly HubHalf[], values: (half: HubHalf) => readonly number[], places: number): object {
  const at = (share: number) => round(median(halves.map(half => percentile(values(half), share))), places)
  return Object.fromEntries(shares.map(([name, share]) => [name, at(share)]))
}

/** RESTSpawner divided by another one: below 1 RESTSpawner takes less. */
function ratiosOf(pairs: readonly HubPair[], other: Spawner, users: number): object {
  const ratio = (figure: (half: HubHalf) => number) => {
    const each = pairs.map(pair => round(figure(pair.skylab) / figure(pair[other]), 2))
    return { median: round(median(each), 2), each }
  }
  return {
    ready_p50: ratio(({ spawned }) => percentile(spawned.readyMs, 0.5)),
    ready_p95: ratio(({ spawned }) => percentile(spawned.readyMs, 0.95)),
    hub_cpu: ratio(({ usage }) => cpuMs(usage, ['hub'], users)),
    hub_and_controller_cpu: ratio(({ usage }) => cpuMs(usage, ['hub', ...controller], users)),
    hub_peak: ratio(({ memory }) => memory.after.peakMib),
    hub_peak_growth: ratio(half => kibPerSpawn(half, 'peakMib', users)),
  }
}

const cpuMs = (usage: Usage, names: readonly string[], users: number): number =>
  (names.reduce((sum, name) => sum + (usage[name] ?? 0), 0) * 1000) / users

const kibPerSpawn = ({ memory: { before, after } }: HubHalf, what: 'nowMib' | 'peakMib', users: number): number =>
  ((after[what] - before.nowMib) * 1024) / users

function byName(halves: readonly HubHalf[], names: readonly string[], users: number): object {
  return Object.fromEntries(
    names.map(name => [name, round(median(halves.map(({ usage }) => cpuMs(usage, [name], users))), 1)]),
  )
}

function othersIn(halves: readonly HubHalf[]): readonly string[] {
  const known: readonly string[] = ['hub', ...controller, ...tools]
  return Object.keys(halves[0]!.usage).filter(name => !known.includes(name))
}

/** `[W 2026-11-22 05:01:02.003 JupyterHub base:1247] User …`: level and place, without the parts that differ by user. */
const placeOf = (line: string): string => line.replace(/^\[(.) \S+ \S+ \S+ (\S+?)\].*$/, '$1 $2')
