/** Computes the figures of the result from the halves. */
import type { AuditedRequest } from '../measure/audit.ts'
import type { LoadResult } from '../measure/load.ts'
import type { Commands } from '../measure/redis.ts'
import { median, percentile, round, tally } from '../measure/statistics.ts'
import { type CpuOptions, cpuFigures, cpuRatios, removalCpu } from './cpu.ts'
import type { LoopHalf, Measured, SkylabHalf } from './halves.ts'
import type { BesideName } from './wings.ts'

export interface Pair {
  readonly skylab: SkylabHalf
  readonly loop: LoopHalf
  readonly first: 'skylab' | 'loop'
}

/** One in each pair. */
export interface WingHalves {
  readonly name: BesideName
  readonly halves: readonly SkylabHalf[]
}

export interface ReportOptions extends Omit<CpuOptions, 'skylab' | 'loop'> {
  readonly pairs: readonly Pair[]
  /** Halves of another build, one in each pair, or none. */
  readonly beside: readonly SkylabHalf[]
  readonly wings: readonly WingHalves[]
  /** Halves with one replica. */
  readonly singles: readonly SkylabHalf[]
  readonly warmUp: number
}

/** Medians over the pairs unless a name says otherwise. */
export function report({ pairs, beside, wings, singles, warmUp, ...options }: ReportOptions): object {
  const skylab = pairs.map(pair => pair.skylab)
  const loop = pairs.map(pair => pair.loop)
  const removed = pairs.find(pair => pair.skylab.removed)
  return {
    ...skylabFigures(skylab, loop, options.labs),
    by_order: byOrder(pairs, options.labs),
    cpu: cpuRatios({ ...options, skylab, loop }, singles),
    cpu_ms_per_lab: cpuFigures({ ...options, skylab, loop }),
    ...(removed && { removal: removalFigures(removed, options.labs + warmUp) }),
    ...(beside.length > 0 && { beside: besideFigures(skylab, beside, loop, options) }),
    ...Object.fromEntries(
      wings.map(({ name, halves }) => [`with_${name}`, wingFigures(skylab, halves, loop, options)]),
    ),
    ...(singles.length > 0 && {
      one_replica: {
        ...skylabFigures(singles, loop, options.labs),
        cpu_ms_per_lab: cpuFigures({ ...options, skylab: singles, loop }),
      },
    }),
  }
}

/** The figures of another build, and this build's by those: medians of the pairs' own ratios. */
function besideFigures(
  skylab: readonly SkylabHalf[],
  beside: readonly SkylabHalf[],
  loop: readonly LoopHalf[],
  options: Pick<CpuOptions, 'labs' | 'replicas'>,
): object {
  const by = (value: (half: SkylabHalf) => number) =>
    round(median(skylab.map((half, index) => value(half) / value(beside[index]!))))
  return {
    rate_ratio: by(({ created }) => 1 / created.result.seconds),
    cpu_ratio: by(({ created }) => created.usage.replicas!),
    accept_p99_ratio: by(({ created }) => percentile(created.result.acceptMs, 0.99)),
    ...skylabFigures(beside, loop, options.labs),
    cpu_ms_per_lab: cpuFigures({ ...options, skylab: beside, loop }),
  }
}

/** What labs cost with something more, by what they cost without: medians of the pairs' own ratios. */
function wingFigures(
  skylab: readonly SkylabHalf[],
  others: readonly SkylabHalf[],
  loop: readonly LoopHalf[],
  options: Pick<CpuOptions, 'labs' | 'replicas'>,
): object {
  const ratios = (value: (half: SkylabHalf) => number) =>
    others.map((half, index) => value(half) / value(skylab[index]!))
  const figure = (all: readonly number[]) => ({ ratio: round(median(all)), ratios: all.map(each => round(each)) })
  const used = ({ created }: SkylabHalf) => Object.values(created.usage).reduce((sum, seconds) => sum + seconds, 0)
  return {
    seconds: figure(ratios(({ created }) => created.result.seconds)),
    cpu: figure(ratios(used)),
    cpu_of_replicas: figure(ratios(({ created }) => created.usage.replicas!)),
    cpu_of_server: figure(ratios(({ created }) => created.usage['kube-apiserver']!)),
    ...skylabFigures(others, loop, options.labs),
    cpu_ms_per_lab: cpuFigures({ ...options, skylab: others, loop }),
  }
}

/** Medians of the halves' own percentiles. */
export function acceptanceOf(results: readonly LoadResult[]): { p50: number; p99: number } {
  const at = (share: number) => round(median(results.map(({ acceptMs }) => percentile(acceptMs, share))), 1)
  return { p50: at(0.5), p99: at(0.99) }
}

export const acceptanceFigures = (halves: readonly SkylabHalf[]): object => ({
  accept_ms: acceptanceOf(halves.map(({ created }) => created.result)),
  bare_accept_ms: acceptanceOf(halves.map(({ bare }) => bare)),
  accept_p99_by_bare: round(
    median(
      halves.map(({ created, bare }) => percentile(created.result.acceptMs, 0.99) / percentile(bare.acceptMs, 0.99)),
    ),
    2,
  ),
})

function skylabFigures(halves: readonly SkylabHalf[], loop: readonly LoopHalf[], labs: number): object {
  const created = halves.map(half => half.created)
  const ratios = created.map(({ result }, index) => loop[index]!.created.result / result.seconds)
  const readyS = (share: number) =>
    round(median(created.map(({ result }) => percentile(result.endedMs, share) / 1000)), 2)
  return {
    labs_per_s: round(median(created.map(({ result }) => labs / result.seconds)), 2),
    loop_labs_per_s: round(median(loop.map(half => labs / half.created.result)), 2),
    ratio: round(median(ratios)),
    ratios: ratios.map(ratio => round(ratio)),
    ...acceptanceFigures(halves),
    ready_s: { p50: readyS(0.5), p95: readyS(0.95) },
    ...requestFigures(created, labs),
    ...redisFigures(created, labs),
    memory_mib: memoryFigures(halves),
    outcomes: tally(created.flatMap(({ result }) => result.outcomes)),
    streams_with_gaps: created.reduce((sum, { result }) => sum + result.streamsWithGaps, 0),
  }
}

/** Rate and processor time of the halves that ran first in their pair, and of those that ran second. */
function byOrder(pairs: readonly Pair[], labs: number): object {
  const of = (kind: Pair['first'], first: boolean) => {
    const halves = pairs.filter(pair => (pair.first === kind) === first).map(pair => pair[kind].created)
    const seconds = (result: number | LoadResult) => (typeof result === 'number' ? result : result.seconds)
    const process = kind === 'skylab' ? 'replicas' : 'loop'
    return {
      labs_per_s: round(median(halves.map(({ result }) => labs / seconds(result))), 2),
      cpu_ms_per_lab: round(median(halves.map(({ usage }) => ((usage[process] ?? 0) * 1000) / labs)), 1),
    }
  }
  const each = (kind: Pair['first']) => ({ first_half: of(kind, true), second_half: of(kind, false) })
  return { skylab: each('skylab'), loop: each('loop') }
}

function memoryFigures(halves: readonly SkylabHalf[]): object {
  const each = (value: (half: SkylabHalf, replica: number) => number) =>
    halves[0]!.memory.before.map((_, replica) => Math.round(median(halves.map(half => value(half, replica)))))
  return {
    before: each(({ memory }, replica) => memory.before[replica]!.nowMib),
    at_most: each(({ memory }, replica) => memory.after[replica]!.peakMib),
    after: each(({ memory }, replica) => memory.after[replica]!.nowMib),
  }
}

function removalFigures({ skylab, loop }: Pair, labs: number): object {
  const removed = skylab.removed!
  return {
    labs,
    seconds: round(removed.result.seconds, 1),
    loop_seconds: round(loop.removed!.result, 1),
    cpu_ms_per_lab: removalCpu(removed, loop.removed!, labs),
    ...requestFigures([removed], labs),
    outcomes: tally(removed.result.outcomes),
    streams_with_gaps: removed.result.streamsWithGaps,
  }
}

const reads: readonly string[] = ['get', 'list', 'watch']

/** Requests of the controller, by the API server's audit log. */
function requestFigures(measured: readonly Measured<unknown>[], labs: number): object {
  const all = measured.flatMap(({ requests }) => requests)
  const ofLabs = all.filter(({ op }) => op !== undefined)
  const fine = ofLabs.filter(({ code }) => code < 400)
  const name = ({ verb, resource }: AuditedRequest) => `${verb} ${resource}`
  const total = labs * measured.length
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
function redisFigures(created: readonly Measured<unknown>[], labs: number): object {
  const perLab = perLabOf(
    created.map(({ commands }) => commands),
    labs,
  )
  const often = perLab.filter(([, calls]) => calls >= 0.05)
  return {
    redis_commands_per_lab: round(
      perLab.reduce((sum, [, calls]) => sum + calls, 0),
      1,
    ),
    redis_by_command: Object.fromEntries(often),
    redis_by_script: Object.fromEntries(
      perLabOf(
        created.map(({ calls }) => calls),
        labs,
      ),
    ),
  }
}

/** Most frequent first. */
function perLabOf(each: readonly Commands[], labs: number): (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const [name, calls] of each.flatMap(Object.entries<number>)) counts.set(name, (counts.get(name) ?? 0) + calls)
  const perLab = [...counts].map(([name, calls]) => [name, round(calls / (labs * each.length), 2)] as const)
  return perLab.toSorted((a, b) => b[1] - a[1])
}
