/** Any queue and machines, also such as no writer leaves behind. Pure. */
import fc from 'fast-check'
import type { Input, Machine, TenantLimits, Throttle, Waiting } from '../types.ts'
import { machineOf, needOf, someRules, typeOf, waitingOf } from './world.ts'

export const someTypes = [
  typeOf('small', 1, 1),
  typeOf('medium', 2, 1.4),
  typeOf('large', 4, 4, { group: 'l' }),
  typeOf('gpu', 4, 9, { group: 'g', gpus: 1 }),
]
export const someShapes = new Map([
  ['one', needOf(1)],
  ['two', needOf(2)],
  ['four', needOf(4)],
  ['gpu', needOf(2, { gpus: 1 })],
  ['huge', needOf(64)],
])
export const nowMs = 1_000_000

const tenant = fc.constantFrom('a', 'b', '__proto__')
const ago = fc.constantFrom(nowMs, nowMs - 59_999, nowMs - 60_000, nowMs - 599_999, nowMs - 600_000)

const anyQueue = fc
  .array(
    fc.record({
      ...{ tenant, shape: fc.constantFrom(...someShapes.keys()), priority: fc.nat(3), queuedMs: fc.nat(3) },
      ...{ attempts: fc.constantFrom(0, 0, 9, 10), supervisor: fc.boolean() },
    }),
    { maxLength: 12 },
  )
  .map(all => all.map((over, i): Waiting => waitingOf(`c-${i}`, over.shape, over)))

const machinesWith = (most: number) =>
  fc.record({
    ...{ tenant, sinceMs: ago, probedMs: ago, broken: fc.constantFrom(false, false, false, true) },
    type: fc.constantFrom('small', 'medium', 'large', 'gpu', 'gone'),
    state: fc.constantFrom('idle', 'idle', 'idle', 'booting', 'creating', 'unknown', 'running', 'shutdown'),
    idleBehavior: fc.constantFrom('run', 'run', 'run', 'hold', 'drain'),
    holds: fc.uniqueArray(fc.nat(14), { maxLength: most }),
    sent: fc.array(fc.boolean(), { minLength: most, maxLength: most }),
  })

const option = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })

const anyTenants = fc
  .record({ most: option(fc.constantFrom(0, 2)), money: option(fc.constantFrom(0.5, 3, 8)) })
  .map(({ most, money }) => {
    const ofA: TenantLimits = most === undefined ? {} : { maxInstances: most }
    const ofB: TenantLimits = money === undefined ? {} : { maxPricePerHour: money }
    return new Map(Object.entries({ a: ofA, b: ofB }))
  })

const anyRules = fc.record({
  maxInstances: fc.constantFrom(0, 3, 6, 64),
  maxConcurrentInstanceCreateOps: fc.constantFrom(1, 3, 100),
  supervisorFraction: fc.constantFrom(0, 0.5, 1),
  tenants: anyTenants,
})

const anyThrottle = fc.record<Throttle>({
  createAfterMs: fc.constantFrom(0, 0, 0, nowMs + 1),
  hurry: fc.boolean(),
  quotas: fc.constantFrom<Throttle['quotas']>(
    ...[new Map(), new Map([['m', { count: 2, untilMs: nowMs }]]), new Map([['l', { count: 0, untilMs: nowMs + 5 }]])],
  ),
  capacity: fc.constantFrom<Throttle['capacity']>(
    ...[new Map(), new Map([['small', { untilMs: nowMs + 7, failures: 1 }]])],
  ),
})

/** The tenant of a machine is that of its containers, as writers leave it. */
function machinesOf(
  all: readonly (ReturnType<typeof machinesWith> extends fc.Arbitrary<infer T> ? T : never)[],
  queue: Waiting[],
) {
  return all.map(({ holds, sent, ...over }, i): Machine => {
    const machine = machineOf(`i-${i}`, over.type, over)
    const its = holds.map(number => queue.find(({ uuid }) => uuid === `c-${number}`))
    const tenant = its.find(each => each)?.tenant ?? machine.tenant
    const containers = holds.flatMap((number, at) => {
      const of = its[at]
      // All are of one tenant.
      if (of && of.tenant !== tenant) return []
      const { shape = 'one', supervisor = false } = of ?? {}
      const isSent = over.state === 'running' ? at === 0 || sent[at]! : sent[at]!
      return [{ uuid: `c-${number}`, sent: isSent, supervisor, need: someShapes.get(shape)! }]
    })
    return { ...machine, tenant, containers }
  })
}

const inputs = (rules: typeof anyRules, holds: number): fc.Arbitrary<Input> =>
  fc
    .record({ queue: anyQueue, all: fc.array(machinesWith(holds), { maxLength: 10 }), rules, throttle: anyThrottle })
    .map(({ queue, all, rules, throttle }) => ({
      ...{ queue, nowMs, throttle, shapes: someShapes, types: someTypes, machines: machinesOf(all, queue) },
      rules: { ...someRules, ...rules },
    }))

/** Machines that have one container at most. */
export const anyInput = inputs(anyRules, 1)

/** Machines may have more. */
export const anyPacked = inputs(
  fc.record({ rules: anyRules, most: fc.constantFrom(2, 3, 100), factor: fc.constantFrom(1.5, 10) }).map(
    // Types that are larger than need be.
    ({ rules, most, factor }) => ({ ...rules, maxContainersPerMachine: most, maximumPriceFactor: factor }),
  ),
  4,
)
