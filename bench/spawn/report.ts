/** Computes the figures of the result from the halves. */
import type { AuditedRequest } from '../measure/audit.ts'
import { percentile, round, tally } from '../measure/statistics.ts'
import type { Usage } from '../measure/usage.ts'
import type { LoadResult } from './client.ts'
import type { LoopHalf, SkylabHalf } from './halves.ts'

export interface Pair {
  readonly skylab: SkylabHalf
  readonly loop: LoopHalf
  /** Acceptance by the bare routes. */
  readonly bare: LoadResult | undefined
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)

/** Medians of the halves' own percentiles. */
export function acceptanceOf(results: readonly LoadResult[]): { p50: number; p99: number } {
  const at = (share: number) => round(median(results.map(({ acceptMs }) => percentile(acceptMs, share))), 1)
  return { p50: at(0.5), p99: at(0.99) }
}

/** Medians over the pairs unless a name says otherwise. */
export function report(pairs: readonly Pair[], labs: number): object {
  const skylab = pairs.map(pair => pair.skylab)
  const loop = pairs.map(pair => pair.loop)
  const bare = pairs.flatMap(pair => pair.bare ?? [])
  const ratios = pairs.map(pair => pair.loop.created.result / pair.skylab.created.result.seconds)
  const created = skylab.map(half => half.created)
  return {
    labs_per_s: round(median(created.map(({ result }) => labs / result.seconds)), 2),
    loop_labs_per_s: round(median(loop.map(half => labs / half.created.result)), 2),
    ratio: round(median(ratios)),
    ratios: ratios.map(ratio => round(ratio)),
    accept_ms: acceptanceOf(created.map(({ result }) => result)),
    ...(bare.length > 0 && { bare_accept_ms: acceptanceOf(bare) }),
    ...cpuFigures(skylab, loop, labs),
    ...requestFigures(skylab, labs),
    ...redisFigures(skylab, labs),
    ready_s: {
      p50: round(median(created.map(({ result }) => percentile(result.endedMs, 0.5) / 1000)), 2),
      p95: round(median(created.map(({ result }) => percentile(result.endedMs, 0.95) / 1000)), 2),
    },
    outcomes: {
      created: tally(created.flatMap(({ result }) => result.outcomes)),
      deleted: tally(skylab.flatMap(half => half.deleted.result.outcomes)),
    },
    streams_with_gaps: skylab.reduce((sum, half) => sum + gapsOf(half), 0),
  }
}

const gapsOf = ({ created, deleted }: SkylabHalf) => created.result.streamsWithGaps + deleted.result.streamsWithGaps

/** Milliseconds of processor time per lab: during creation, and during removal. */
function cpuFigures(skylab: readonly SkylabHalf[], loop: readonly LoopHalf[], labs: number): object {
  const each = (usages: readonly Usage[], name: string) =>
    usages.map(usage => round(((usage[name] ?? 0) * 1000) / labs, 1))
  const perLab = (usages: readonly Usage[], name: string) => median(each(usages, name))
  const making = skylab.map(half => half.created.usage)
  const looping = loop.map(half => half.created.usage)
  const others = Object.keys(making[0]!).filter(name => name !== 'replicas' && name !== 'loop')
  const replicas = perLab(making, 'replicas')
  const loops = perLab(looping, 'loop')
  const delReplicas = skylab.map(half => half.deleted.usage)
  const delLoop = loop.map(half => half.deleted.usage)
  return {
    cpu_ms_per_lab: {
      replicas,
      loop: loops,
      ratio: round(replicas / loops, 2),
      each: { replicas: each(making, 'replicas'), loop: each(looping, 'loop') },
      others: Object.fromEntries(others.map(name => [name, perLab(making, name)])),
      others_with_loop: Object.fromEntries(others.map(name => [name, perLab(looping, name)])),
    },
    deletion_cpu_ms_per_lab: { replicas: perLab(delReplicas, 'replicas'), loop: perLab(delLoop, 'loop') },
  }
}

const reads: readonly string[] = ['get', 'list', 'watch']

/** Requests of the controller, of creation and deletion together, by the API server's audit log. */
function requestFigures(skylab: readonly SkylabHalf[], labs: number): object {
  const all = skylab.flatMap(half => [...half.created.requests, ...half.deleted.requests])
  const ofLabs = all.filter(({ op }) => op !== undefined)
  const fine = ofLabs.filter(({ code }) => code < 400)
  const name = ({ verb, resource }: AuditedRequest) => `${verb} ${resource}`
  const total = labs * skylab.length
  const perLab = Object.entries(tally(fine.map(name))).map(([key, count]) => [key, round(count / total)])
  return {
    requests_per_lab: round(ofLabs.length / total),
    reads_per_lab: round(ofLabs.filter(({ verb }) => reads.includes(verb)).length / total),
    by_verb: Object.fromEntries(perLab),
    refused: tally(ofLabs.filter(({ code }) => code >= 400).map(request => `${name(request)} ${request.code}`)),
    requests_of_no_lab: tally(all.filter(({ op }) => op === undefined).map(name)),
  }
}

/** Commands per created lab, including those in scripts; `evalsha` counts the scripts. */
function redisFigures(skylab: readonly SkylabHalf[], labs: number): object {
  const counts = new Map<string, number>()
  for (const { created } of skylab) {
    for (const [name, calls] of Object.entries(created.commands)) counts.set(name, (counts.get(name) ?? 0) + calls)
  }
  const perLab = [...counts].map(([name, calls]) => [name, round(calls / (labs * skylab.length), 2)] as const)
  return {
    redis_commands_per_lab: round(
      perLab.reduce((sum, [, calls]) => sum + calls, 0),
      1,
    ),
    redis_by_command: Object.fromEntries(perLab.filter(([, calls]) => calls >= 0.05).toSorted((a, b) => b[1] - a[1])),
  }
}
