/** Queues that run to their end on machines that several containers share, in a cloud in memory. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { add, fitsIn, nothing, roomOf, shareOf } from './room.ts'
import { someShapes } from './testing/arbitrary.ts'
import { type Run, runToEnd, someRules, typeOf, World, type WorldOptions, waitingOf } from './testing/world.ts'
import type { Rules } from './types.ts'

const hourMs = 3_600_000
const large = typeOf('large', 4, 4)
const types = [typeOf('medium', 2, 2), large]

const worldOf = (rules: Partial<Rules>, over: Partial<WorldOptions> = {}) =>
  new World({
    ...{ shapes: someShapes, types, bootMs: 60_000, destroyMs: 20_000, ...over },
    rules: { ...someRules, maximumPriceFactor: 10, ...rules },
  })

/** Whether a machine ever has more than it holds. */
function isOverfull(runs: readonly Run[], shapeOf: (uuid: string) => string, rules: Rules): boolean {
  return runs.some(({ machine, type, fromMs }) => {
    const room = roomOf(types.find(({ name }) => name === type)!, rules)
    const beside = runs.filter(each => each.machine === machine && each.fromMs <= fromMs && fromMs < each.toMs)
    for (const { uuid } of beside) {
      const share = shareOf(someShapes.get(shapeOf(uuid))!, rules)
      if (!fitsIn(room, share, nothing)) return true
      add(room, share, -1)
    }
    return false
  })
}

test('all containers run once, no machine has more than it holds, and the cloud is empty in the end', () => {
  const anyJobs = fc.array(
    fc.record({
      ...{ shape: fc.constantFrom('one', 'one', 'two', 'four'), priority: fc.integer({ min: 1, max: 3 }) },
      ...{ runsMs: fc.integer({ min: 1, max: 900_000 }), tenant: fc.constantFrom('a', 'b') },
    }),
    { minLength: 1, maxLength: 15 },
  )
  const anyRules = fc.record({
    ...{ maxInstances: fc.constantFrom(1, 2, 5), maxContainersPerMachine: fc.constantFrom(1, 2, 3, 100) },
    maxConcurrentInstanceCreateOps: fc.constantFrom(1, 10),
  })
  const anyDead = fc.uniqueArray(fc.nat(15), { maxLength: 4 })
  fc.assert(
    fc.property(anyJobs, anyRules, anyDead, (jobs, rules, dead) => {
      const cloud = worldOf(rules, { isDead: number => dead.includes(number) })
      for (const [i, job] of jobs.entries()) cloud.submit({ ...waitingOf(`c-${i}`, job.shape), ...job })
      expect(runToEnd(cloud, 200 * hourMs)).toBe(true)
      expect(cloud.runs.map(({ uuid }) => uuid).toSorted()).toEqual(jobs.map((_, i) => `c-${i}`).toSorted())
      const shapeOf = (uuid: string) => jobs[Number(uuid.slice(2))]!.shape
      expect(isOverfull(cloud.runs, shapeOf, { ...someRules, ...rules })).toBe(false)
    }),
    { numRuns: 200 },
  )
})

test('a more urgent container gets an empty machine, though others could join the one that runs', () => {
  const cloud = worldOf({ maxInstances: 1, maxContainersPerMachine: 4 }, { types: [large] })
  // Small ones come all the time, for as long as the urgent one waits.
  let number = 0
  const submit = () => {
    number += 1
    cloud.submit({ ...waitingOf(`small-${number}`, 'one', { queuedMs: cloud.nowMs }), runsMs: 300_000 })
  }
  submit()
  cloud.advance(cloud.pass().dueMs, hourMs)
  cloud.submit({ ...waitingOf('big', 'four', { priority: 2, queuedMs: cloud.nowMs }), runsMs: 1000 })
  while (cloud.nowMs < 10 * hourMs && !cloud.runs.some(({ uuid }) => uuid === 'big')) {
    if (!cloud.queue.values().some(({ shape }) => shape === 'one')) submit()
    cloud.advance(cloud.pass().dueMs, 10 * hourMs)
  }
  expect(cloud.runs.find(({ uuid }) => uuid === 'big')!.fromMs).toBeLessThanOrEqual(60_000 + 2 * 300_000)
})

/** Half of them need one processor, a quarter two, a quarter four; they come over two hours, and run 2 to 20 minutes. */
function trace(most: number, maxInstances: number) {
  const cloud = worldOf({ maxContainersPerMachine: most, maxInstances }, { types: [large] })
  const jobs = Array.from({ length: 400 }, (_, i) => {
    const shape = i % 2 === 0 ? 'one' : i % 4 === 1 ? 'two' : 'four'
    const queuedMs = ((i * 7919) % 400) * 18_000
    return { ...waitingOf(`c-${i}`, shape, { queuedMs }), runsMs: 120_000 + ((i * 104_729) % 1_080_000) }
  }).toSorted((a, b) => a.queuedMs - b.queuedMs)
  while (jobs.length > 0 || cloud.queue.size > 0 || cloud.machines.size > 0) {
    while (jobs[0] && jobs[0].queuedMs <= cloud.nowMs) cloud.submit(jobs.shift()!)
    const { dueMs } = cloud.pass()
    cloud.advance(
      Math.min(dueMs ?? Number.POSITIVE_INFINITY, jobs[0]?.queuedMs ?? Number.POSITIVE_INFINITY),
      99 * hourMs,
    )
  }
  const queuedMs = (uuid: string) => ((Number(uuid.slice(2)) * 7919) % 400) * 18_000
  const waits = cloud.runs.map(({ uuid, fromMs }) => fromMs - queuedMs(uuid)).toSorted((a, b) => a - b)
  const meanMs = waits.reduce((sum, ms) => sum + ms, 0) / waits.length
  return { runs: cloud.runs.length, cost: cloud.cost, meanMs, ninthMs: waits[Math.floor(waits.length * 0.9)]! }
}

test('packing costs less where machines are larger than containers, and waits are no longer', () => {
  const [alone, packed] = [trace(1, 64), trace(4, 64)]
  expect([alone.runs, packed.runs]).toEqual([400, 400])
  expect(packed.cost).toBeLessThan(0.7 * alone.cost)
  expect(packed.meanMs).toBeLessThan(alone.meanMs)
  const [few, full] = [trace(1, 12), trace(4, 12)]
  expect(full.cost).toBeLessThan(0.8 * few.cost)
  expect(full.meanMs).toBeLessThan(0.5 * few.meanMs)
})
