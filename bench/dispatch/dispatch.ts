/**
 * Times passes of the scheduler over a full queue, and compares its costs. docs/bench.md explains the result.
 *   npm run bench -- dispatch-pass [--machines 10000] [--queued 100000] [--passes 200] [--cases 1000] [--trace 2000]
 */
import { setImmediate } from 'node:timers/promises'
import type { Progress } from '../../dev/process/progress.ts'
import { systemClock } from '../../src/base/clock.ts'
import { decide } from '../../src/dispatch/decide.ts'
import type { Decisions, Input, Waiting } from '../../src/dispatch/types.ts'
import { seenInAll } from '../../src/pool/heads.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { median, percentile, round } from '../measure/statistics.ts'
import { exactRatios, traceCost } from './cost.ts'
import { crowdOf } from './crowd.ts'
import { type Random, randomOf } from './random.ts'

const defaults = { machines: 10_000, queued: 100_000, shapes: 200, tenants: 50, passes: 200, cases: 1000, trace: 2000 }
/** Different ones in turns, so that no pass is measured with the caches of the one before. */
const inputs = 4
const warmUp = 10

export async function dispatchBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const conditions = machine()
  const random = randomOf(1)
  progress.say(`${options.machines} machines, ${options.queued} containers: ${options.passes} passes`)
  const inOrder = await passes(options, random, { signal, isSorted: true })
  const shuffled = await passes(options, random, { signal, isSorted: false })
  const ofHeads = await passes(options, random, { signal, isSorted: true, most: seenInAll })
  progress.say(`${options.cases} cases beside the exact optimum`)
  const ratios = exactRatios(random, { cases: options.cases, containers: 8 })
  progress.say(`${options.trace} containers to their end`)
  const trace = traceCost(random, { containers: options.trace, hours: 4, maxInstances: options.trace })
  return {
    bench: 'dispatch-pass',
    ...conditions,
    options,
    pass_ms: inOrder,
    pass_ms_shuffled: shuffled,
    pass_ms_heads: ofHeads,
    cost_by_optimum: spread(ratios),
    trace: {
      ...{ ended: trace.ended, ran: trace.ran, passes: trace.passes },
      cost_by_cheapest_fit: round(trace.byFloor),
      wait_s: spread(trace.waitsS),
    },
  }
}

const spread = (values: readonly number[]) => ({
  ...{ p50: round(median(values)), p99: round(percentile(values, 0.99)), max: round(percentile(values, 1)) },
})

interface Kind {
  readonly signal: AbortSignal
  /** As a store reads it: each shape in order, one after another. */
  readonly isSorted: boolean
  /** Of all groups about, as the pool reads them; default: all. */
  readonly most?: number
}

async function passes(options: typeof defaults, random: Random, { signal, isSorted, most }: Kind): Promise<object> {
  const all = Array.from({ length: inputs }, () => crowdOf(options, random)).map(input =>
    isSorted ? { ...input, queue: heads(byShape(input), most) } : input,
  )
  const took: number[] = []
  const cpu: number[] = []
  let last: Decisions | undefined
  for (let number = 0; number < options.passes + warmUp; number += 1) {
    signal.throwIfAborted()
    await setImmediate()
    const begunMs = systemClock.monotonicMs()
    const begunCpu = process.threadCpuUsage()
    last = decide(all[number % inputs]!)
    if (number < warmUp) continue
    took.push(systemClock.monotonicMs() - begunMs)
    const { user, system } = process.threadCpuUsage(begunCpu)
    cpu.push((user + system) / 1000)
  }
  const { assign, unassign, create, shutdown, fail } = last!
  const lengths = { assign, unassign, create, shutdown, fail }
  const decided = Object.fromEntries(Object.entries(lengths).map(([name, each]) => [name, each.length]))
  // The processor time of its thread tells more beside other work on the machine.
  return { ...spread(took), cpu: spread(cpu), decided }
}

/** A sorted set per shape: score −priority, member uuid. */
const byShape = ({ queue }: Input) =>
  queue.toSorted(
    (a, b) =>
      (a.shape < b.shape ? -1 : a.shape > b.shape ? 1 : 0) || b.priority - a.priority || a.queuedMs - b.queuedMs,
  )

/** The first ones of each shape and tenant. */
function heads(queue: readonly Waiting[], most = queue.length): readonly Waiting[] {
  const groups = [...Map.groupBy(queue, ({ shape, tenant }) => JSON.stringify([shape, tenant])).values()]
  const share = Math.max(1, Math.floor(most / groups.length))
  return groups.flatMap(all => all.slice(0, share))
}
