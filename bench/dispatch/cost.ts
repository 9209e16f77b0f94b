/** What the scheduler's machines cost, beside the least that is possible. Pure. */
import { decide } from '../../src/dispatch/decide.ts'
import { fitOf } from '../../src/dispatch/fits.ts'
import { byTurn } from '../../src/dispatch/order.ts'
import { machineOf, runToEnd, someRules, World, waitingOf } from '../../src/dispatch/testing/world.ts'
import { calm } from '../../src/dispatch/throttle.ts'
import type { Input, MachineType } from '../../src/dispatch/types.ts'
import { bootMs, durationOf, needsOf, types } from './crowd.ts'
import type { Random } from './random.ts'

const hourMs = 3_600_000
const { timeoutIdleMs } = someRules
const byName = new Map(types.map(type => [type.name, type]))

/** A few containers and idle machines, of which all are placed in one pass. */
interface Case {
  readonly input: Input
  readonly runsMs: ReadonlyMap<string, number>
}

function caseOf(random: Random, most: number): Case {
  const shapes = needsOf(random, 4)
  const names = [...shapes.keys()]
  const queue = Array.from({ length: 1 + random.below(most) }, (_, i) =>
    waitingOf(`c-${i}`, random.oneOf(names), { priority: 1 + random.below(3), queuedMs: i }),
  )
  const machines = Array.from({ length: random.below(most + 1) }, (_, i) =>
    machineOf(`i-${i}`, random.oneOf(types).name),
  )
  const runsMs = new Map(queue.map(({ uuid }) => [uuid, durationOf(random)]))
  return { input: { shapes, types, rules: someRules, throttle: calm, nowMs: 1, queue, machines }, runsMs }
}

const priceOf = ({ price }: MachineType, ms: number): number => (price * ms) / hourMs

/** Each machine is paid from now to its end: it boots, runs, and is idle for its time. */
const costNew = (type: MachineType, runs: number) => priceOf(type, bootMs + runs + timeoutIdleMs)
const idleCost = ({ machines }: Input): number =>
  machines.reduce((sum, { type }) => sum + priceOf(byName.get(type)!, timeoutIdleMs), 0)

function decidedCost({ input, runsMs }: Case): number {
  const { assign, create } = decide(input)
  const machines = new Map(input.machines.map(({ id, type }) => [id, byName.get(type)!]))
  const used = assign.map(({ container, machine }) => priceOf(machines.get(machine)!, runsMs.get(container)!))
  const created = create.map(({ containers: [container], type }) => costNew(byName.get(type)!, runsMs.get(container!)!))
  return [...used, ...created].reduce((sum, each) => sum + each, idleCost(input))
}

/** Tries every machine for every container. Machines of a type are alike, which keeps the number of tries small. */
export function leastCost({ input, runsMs }: Case): number {
  const { queue, shapes, rules } = input
  const order = queue.toSorted(byTurn)
  const known = new Map<string, number>()
  const left = new Map<string, number>()
  for (const { type } of input.machines) left.set(type, (left.get(type) ?? 0) + 1)
  const fits = new Map(
    [...shapes].map(([name, need]) => [name, fitOf(need, types, { ...rules, maximumPriceFactor: 1e9 })]),
  )
  const best = (place: number): number => {
    const container = order[place]
    if (!container) return 0
    const key = JSON.stringify([place, ...left.values()])
    const before = known.get(key)
    if (before !== undefined) return before
    const fit = fits.get(container.shape)!
    if ('none' in fit) return best(place + 1)
    const runs = runsMs.get(container.uuid)!
    let least = Math.min(...fit.types.map(type => costNew(type, runs))) + best(place + 1)
    for (const type of fit.types) {
      const number = left.get(type.name) ?? 0
      if (number === 0) continue
      left.set(type.name, number - 1)
      least = Math.min(least, priceOf(type, runs) + best(place + 1))
      left.set(type.name, number)
    }
    known.set(key, least)
    return least
  }
  return best(0) + idleCost(input)
}

/** The cost of a pass by the least possible, of each case. */
export function exactRatios(random: Random, { cases, containers }: { cases: number; containers: number }): number[] {
  return Array.from({ length: cases }, () => {
    const one = caseOf(random, containers)
    return decidedCost(one) / leastCost(one)
  })
}

export interface Trace {
  readonly containers: number
  /** They come at an even pace over this time. */
  readonly hours: number
  readonly maxInstances: number
}

/** Runs containers to their end. @returns the cost by that of each on its cheapest type, without boots and idle times */
export function traceCost(random: Random, { containers, hours, maxInstances }: Trace) {
  const shapes = needsOf(random, 40)
  const names = [...shapes.keys()].filter(name => !('none' in fitOf(shapes.get(name)!, types, someRules)))
  const rules = { ...someRules, maxInstances }
  const world = new World({ shapes, types, rules, bootMs, destroyMs: 20_000 })
  let floor = 0
  const jobs = Array.from({ length: containers }, (_, i) => {
    const [shape, runsMs] = [random.oneOf(names), durationOf(random)]
    const fit = fitOf(shapes.get(shape)!, types, rules)
    if ('types' in fit) floor += priceOf(fit.types[0]!, runsMs)
    const queuedMs = (i / containers) * hours * hourMs
    return { ...waitingOf(`c-${i}`, shape, { queuedMs, priority: 1 + random.below(3) }), runsMs }
  })
  let next = 0
  while (next < jobs.length) {
    for (; next < jobs.length && jobs[next]!.queuedMs <= world.nowMs; next += 1) world.submit(jobs[next]!)
    world.advance(world.pass().dueMs, Number.POSITIVE_INFINITY)
  }
  const ended = runToEnd(world, Number.POSITIVE_INFINITY)
  const queued = new Map(jobs.map(({ uuid, queuedMs }) => [uuid, queuedMs]))
  const waitsS = world.runs.map(({ uuid, fromMs }) => (fromMs - queued.get(uuid)!) / 1000)
  return { ended, ran: world.runs.length, passes: world.passes, byFloor: world.cost / floor, waitsS }
}
