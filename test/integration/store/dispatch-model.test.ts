/**
 * Random histories of all commands of dispatch: late ones, of former owners, sent twice, amid losses of Redis. After each step
 * all keys agree, and no container ever runs twice at once.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Limits } from '../../../src/dispatch/room.ts'
import { History, type Step, type StepName } from '../../kit/dispatch/history.ts'
import { room } from '../../kit/dispatch/store.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const whole = process.env.SKYLAB_FAULTS === 'all'

/** The usual way of a container, in which the random steps are mixed. */
const way: readonly StepName[] = [
  ...(['accept', 'read', 'decide', 'own', 'create', 'attach', 'ask', 'read', 'decide', 'send'] as const),
  ...(['deliver', 'find', 'tell', 'finish', 'find', 'tell', 'ask'] as const),
]
const rare: readonly StepName[] = ['priority', 'cancel', 'behavior', 'log', 'log', 'drop', 'destroy', 'gone', 'die']
const losses: readonly StepName[] = ['snapshot', 'lose']
const some = (names: readonly StepName[], maxLength: number) =>
  fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(999), fc.nat(999)), { maxLength })

/** A machine is made for one container. */
const made: readonly Step[] = [
  ...([
    ['accept', 2, 1],
    ['read', 0, 1],
    ['decide', 1, 1],
    ['own', 0, 1],
    ['create', 1, 1],
    ['attach', 1, 1],
  ] as const),
]

/** One container begins, then its machine has another owner, and the former one goes on. */
const begins: readonly Step[] = [
  ...made,
  ...([
    ['ask', 1, 1],
    ['send', 1, 1],
    ['deliver', 0, 1],
    ['own', 0, 1],
    ['ask', 0, 1],
    ['log', 0, 1],
  ] as const),
]

/** Rounds of the usual way with random steps amid it. */
const history = (more: readonly StepName[]) =>
  fc
    .array(
      fc.tuple(
        fc.array(fc.tuple(fc.nat(999), fc.nat(999)), { minLength: way.length, maxLength: way.length }),
        some([...way, ...rare, ...more], 12),
        fc.nat(way.length),
      ),
      {
        minLength: 2,
        maxLength: 5,
      },
    )
    .map(rounds =>
      rounds.flatMap(([numbers, amid, at]): Step[] => {
        const steps = way.map((name, i): Step => [name, ...numbers[i]!])
        return [...steps.slice(0, at), ...amid, ...steps.slice(at)]
      }),
    )

async function runAll(first: readonly Step[], histories: fc.Arbitrary<Step[]>, numRuns: number, room?: Limits) {
  const sum = { refused: 0, begun: 0, beside: 0, losses: 0, ended: 0, adopted: 0, fenced: 0, full: 0, dropped: 0 }
  await fc.assert(
    fc.asyncProperty(histories, async steps => {
      await store().redis.flushall()
      const world = new History(store(), room)
      await world.start()
      for (const step of [...first, ...steps]) await world.take(step)
      await world.rest()
      if (world.counts.losses === 0) {
        for (const uuid of world.uuids)
          expect((await world.dispatch.containers.find(uuid)) === null, uuid).toBe(world.dropped.has(uuid))
      }
      sum.dropped += world.dropped.size
      for (const [name, count] of Object.entries(world.counts)) sum[name as keyof typeof sum] += count
    }),
    { numRuns, endOnFailure: true },
  )
  return sum
}

/** It ends, and is dropped at once. */
const ends: readonly Step[] = [
  ...([
    ['finish', 0, 0],
    ['find', 0, 0],
    ['tell', 0, 0],
    ['drop', 0, 0],
  ] as const),
]

test('no history lets a container run twice, or be lost, or keys disagree', { timeout: 600_000 }, async () => {
  const sum = await runAll([...begins, ...ends], history([]), whole ? 400 : 6)
  expect(sum.begun).toBeGreaterThan(0)
  expect(sum.fenced).toBeGreaterThan(0)
  expect(sum.dropped).toBeGreaterThan(0)
  expect(sum.full).toBeGreaterThan(0)
})

/** Three are queued, and two of them go to the machine of the first. */
const shares: readonly Step[] = [
  ...made,
  ...([
    ['ask', 1, 1],
    ['accept', 2, 1],
    ['accept', 2, 1],
    ['read', 0, 1],
    ['decide', 0, 1],
    ['send', 1, 1],
    ['deliver', 0, 1],
  ] as const),
]

test('nor is there one where machines have room for two, and none runs three', { timeout: 600_000 }, async () => {
  const sum = await runAll(shares, history([]), whole ? 200 : 6, room)
  expect(sum.beside).toBeGreaterThan(0)
  const after = await runAll(shares, history(losses), whole ? 200 : 6, room)
  expect(after.losses).toBeGreaterThan(0)
})

test('nor does one in which Redis is emptied or goes back', { timeout: 600_000 }, async () => {
  const sum = await runAll([...begins, ['lose', 0, 1]], history(losses), whole ? 400 : 6)
  expect(sum.losses).toBeGreaterThan(0)
  expect(sum.adopted).toBeGreaterThan(0)
})
