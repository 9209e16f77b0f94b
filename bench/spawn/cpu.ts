/** Processor time per lab, in milliseconds, and what it is by the loop's. */
import { median, round } from '../measure/statistics.ts'
import type { Usage } from '../measure/usage.ts'
import type { LoopHalf, Measured, SkylabHalf } from './halves.ts'

export interface CpuOptions {
  readonly skylab: readonly SkylabHalf[]
  readonly loop: readonly LoopHalf[]
  readonly labs: number
  readonly replicas: number
}

const msPerLab = (usage: Usage, name: string, labs: number): number => ((usage[name] ?? 0) * 1000) / labs
const usages = (halves: readonly { readonly created: Measured<unknown> }[]) =>
  halves.map(({ created }) => created.usage)

export function cpuFigures({ skylab, loop, labs }: CpuOptions): object {
  const each = (used: readonly Usage[], name: string) => used.map(usage => round(msPerLab(usage, name, labs), 1))
  const [making, looping] = [usages(skylab), usages(loop)]
  const others = (used: readonly Usage[]) => {
    const names = Object.keys(used[0]!).filter(name => name !== 'replicas' && name !== 'loop')
    return Object.fromEntries(names.map(name => [name, round(median(each(used, name)), 1)]))
  }
  return {
    replicas: round(median(each(making, 'replicas')), 1),
    loop: round(median(each(looping, 'loop')), 1),
    each: { replicas: each(making, 'replicas'), loop: each(looping, 'loop') },
    others: others(making),
    others_with_loop: others(looping),
  }
}

/** The median of the pairs' ratios; with halves of one replica also theirs, and the price of each further replica. */
export function cpuRatios({ skylab, loop, labs, replicas }: CpuOptions, singles: readonly SkylabHalf[]): object {
  const loopMs = usages(loop).map(usage => msPerLab(usage, 'loop', labs))
  const ratiosOf = (halves: readonly SkylabHalf[]) =>
    usages(halves).map((usage, index) => msPerLab(usage, 'replicas', labs) / loopMs[index]!)
  const [ratios, ones] = [ratiosOf(skylab), ratiosOf(singles)]
  const further = ones.map((one, index) => (ratios[index]! - one) / (replicas - 1))
  return {
    ratio: round(median(ratios), 2),
    ratios: ratios.map(ratio => round(ratio, 2)),
    ...(singles.length > 0 && {
      one_replica: round(median(ones), 2),
      further_replica: round(median(further), 2),
    }),
  }
}

export const removalCpu = (skylab: Measured<unknown>, loop: Measured<unknown>, labs: number): object => ({
  replicas: round(msPerLab(skylab.usage, 'replicas', labs), 1),
  loop: round(msPerLab(loop.usage, 'loop', labs), 1),
})
