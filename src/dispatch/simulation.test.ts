/** Queues that run to their end in a cloud in memory. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide } from './decide.ts'
import { someShapes, someTypes } from './testing/arbitrary.ts'
import { machineOf, needOf, runToEnd, someRules, World, type WorldOptions, waitingOf } from './testing/world.ts'
import { calm } from './throttle.ts'
import type { Input, Waiting } from './types.ts'

const hourMs = 3_600_000
const world = (over: Partial<WorldOptions> = {}) =>
  new World({ shapes: someShapes, types: someTypes, rules: someRules, bootMs: 60_000, destroyMs: 20_000, ...over })

const anyJobs = fc.array(
  fc.record({
    shape: fc.constantFrom('one', 'two', 'four', 'gpu'),
    ...{ priority: fc.integer({ min: 1, max: 3 }), runsMs: fc.integer({ min: 1, max: 900_000 }) },
    ...{ supervisor: fc.boolean(), tenant: fc.constantFrom('a', 'b') },
  }),
  { minLength: 1, maxLength: 15 },
)

test('all containers run once, alone on a machine, and the cloud is empty in the end', () => {
  const anyCloud = fc.record({
    refusals: fc.array(fc.constantFrom(undefined, 'RateLimited', 'AtQuota', 'NoCapacity'), { maxLength: 10 }),
    dead: fc.uniqueArray(fc.nat(15), { maxLength: 4 }),
    maxInstances: fc.constantFrom(1, 2, 5),
    maxConcurrentInstanceCreateOps: fc.constantFrom(1, 10),
  })
  fc.assert(
    fc.property(anyJobs, anyCloud, (jobs, { refusals, dead, ...rules }) => {
      const cloud = world({
        rules: { ...someRules, ...rules },
        refuses: number => refusals[number - 1] as 'RateLimited' | undefined,
        isDead: number => dead.includes(number),
      })
      for (const [i, job] of jobs.entries()) cloud.submit({ ...waitingOf(`c-${i}`, job.shape), ...job })
      let most = 0
      const isDone = runToEnd(cloud, 200 * hourMs, (_, { machines }) => {
        most = Math.max(most, machines.length)
      })
      expect({ isDone, failed: cloud.failed }).toEqual({ isDone: true, failed: [] })
      expect(cloud.runs.map(({ uuid }) => uuid).toSorted()).toEqual(jobs.map((_, i) => `c-${i}`).toSorted())
      expect(most).toBeLessThanOrEqual(rules.maxInstances)
      for (const one of cloud.runs) {
        const others = cloud.runs.filter(each => each !== one && each.machine === one.machine)
        expect(others.filter(({ fromMs, toMs }) => fromMs < one.toMs && one.fromMs < toMs)).toEqual([])
      }
    }),
    { numRuns: 100 },
  )
})

describe('a more urgent container', () => {
  /** Small ones come without a pause, and always find the only machine idle. */
  const endless = (priority: number) => {
    const cloud = world({ rules: { ...someRules, maxInstances: 1 } })
    let number = 0
    const submit = () => {
      number += 1
      cloud.submit({ ...waitingOf(`small-${number}`, 'one', { queuedMs: cloud.nowMs }), runsMs: 300_000 })
    }
    submit()
    cloud.advance(cloud.pass().dueMs, hourMs)
    cloud.submit({ ...waitingOf('big', 'four', { priority, queuedMs: cloud.nowMs }), runsMs: 1000 })
    while (cloud.nowMs < 10 * hourMs && !cloud.runs.some(({ uuid }) => uuid === 'big')) {
      if (!cloud.queue.values().some(({ shape }) => shape === 'one')) submit()
      cloud.advance(cloud.pass().dueMs, 10 * hourMs)
    }
    return cloud.runs.find(({ uuid }) => uuid === 'big')?.fromMs
  }

  test('gets the room of an idle machine before others use that again', () => {
    expect(endless(2)).toBeLessThanOrEqual(60_000 + 300_000 + 20_000 + 60_000 + 20_000)
  })

  test('takes a machine that boots from a lesser one, which waits for the next', () => {
    const queue = [waitingOf('low', 'one'), waitingOf('high', 'one', { priority: 9, queuedMs: 5 })]
    const containers = [{ uuid: 'low', sent: false, supervisor: false, need: needOf(1) }]
    const input = inputOf({ queue, machines: [machineOf('i', 'small', { state: 'booting', containers })] })
    expect(decide(input)).toMatchObject({
      unassign: [{ container: 'low', machine: 'i' }],
      assign: [{ container: 'high', machine: 'i' }],
      create: [{ containers: ['low'], type: 'small' }],
    })
  })
})

const inputOf = (over: Partial<Input>): Input => ({
  ...{ shapes: someShapes, types: someTypes, rules: someRules, throttle: calm, nowMs: 10, queue: [], machines: [] },
  ...over,
})

test('a pass reads hardly more than twice as much of a queue and machines twice as long', () => {
  const readsOf = (size: number) => {
    let reads = 0
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (of, key) => {
          reads += 1
          return Reflect.get(of, key)
        },
      })
    const shapes = [...someShapes.keys()]
    const container = (i: number): Waiting => {
      const priority = 1 + ((i * 7919) % 13)
      return counted(waitingOf(`c-${i}`, shapes[i % 4]!, { priority, tenant: `t-${i % 5}`, queuedMs: i }))
    }
    const machine = (i: number) => {
      const state = i % 3 === 0 ? 'booting' : 'idle'
      const its = { uuid: `c-${i * 3}`, sent: false, supervisor: false, need: needOf(1) }
      const over = { state, tenant: `t-${i % 5}`, probedMs: 9, ...(i % 2 === 0 && { containers: [its] }) } as const
      return counted(machineOf(`i-${i}`, someTypes[i % 4]!.name, over))
    }
    const queue = Array.from({ length: size * 10 }, (_, i) => container(i))
    const rules = { ...someRules, maxInstances: size * 2, maxConcurrentInstanceCreateOps: size }
    decide(inputOf({ queue, rules, machines: Array.from({ length: size }, (_, i) => machine(i)) }))
    return reads
  }
  expect(readsOf(800) / readsOf(200)).toBeLessThan(4 * 1.4)
})
