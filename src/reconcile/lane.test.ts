import { expect, test } from 'vitest'
import { Lane } from './lane.ts'

const keys = Array.from({ length: 200 }, (_, i) => `k${i}`)

function order(passing: number, random: () => number): string[] {
  const lane = new Lane(() => 'share', { passing, random })
  for (const key of keys) lane.set(key, { urgent: false, sinceMs: 0, mayLeave: false })
  return keys.map(() => lane.take(() => true)!.key)
}

/** Numbers of 0 to 1 that look like chance. */
function chance(seed: number): () => number {
  let last = seed
  return () => {
    last = (last * 48_271) % 2_147_483_647
    return last / 2_147_483_647
  }
}

test('Lane gives the keys of a share in their order when none may pass', () => {
  expect(order(0, chance(1))).toEqual(keys)
})

test('Lane gives keys of a share in another order at each replica when some may pass, and none much later', () => {
  const [one, other] = [order(16, chance(1)), order(16, chance(2))]
  const late = one.map((key, place) => place - keys.indexOf(key))
  expect(Math.max(...late)).toBeLessThanOrEqual(16)
  const atOnce = keys.filter((_, place) => one.slice(place, place + 4).includes(other[place]!))
  expect(atOnce.length).toBeLessThan(keys.length / 2)
  expect([...one].sort()).toEqual([...keys].sort())
})

test('Lane keeps the place of a key when it is asked for again', () => {
  const ranks = [0.9, 0.1, 0.5].values()
  const lane = new Lane(() => 'share', { passing: 10, random: () => ranks.next().value! })
  for (const key of ['a', 'b', 'c', 'a']) lane.set(key, { urgent: false, sinceMs: 0, mayLeave: false })
  expect([1, 2, 3].map(() => lane.take(() => true)!.key)).toEqual(['b', 'c', 'a'])
})

test('Lane lets the last key pass that may pass, and no later one', () => {
  const first = (lucky: number) => {
    const ranks = keys.map((_, place) => (place === lucky ? 0 : 0.999)).values()
    const lane = new Lane(() => 'share', { passing: 10, random: () => ranks.next().value! })
    for (const key of keys) lane.set(key, { urgent: false, sinceMs: 0, mayLeave: false })
    return lane.take(() => true)!.key
  }
  expect([first(9), first(10)]).toEqual(['k9', 'k0'])
})

test('Lane gives keys of the groups of a share in turns, and none delays other shares', () => {
  const lane = new Lane(key => key[0]!, { groupOf: key => key[1]! })
  const asked = { urgent: false, sinceMs: 0, mayLeave: false }
  for (const key of ['ax1', 'ax2', 'ax3', 'ay4', 'ay5', 'az6', 'bx7', 'by8']) lane.set(key, asked)
  lane.delete('ay5')
  const taken = [1, 2, 3, 4, 5, 6, 7].map(() => lane.take(() => true)!.key)
  expect([taken, lane.size, lane.take(() => true)]).toEqual([
    ['ax1', 'bx7', 'ay4', 'by8', 'az6', 'ax2', 'ax3'],
    0,
    undefined,
  ])
})
