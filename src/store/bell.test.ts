import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { BellOf, type Pauses } from './bell.ts'
import type { Connection, Entry } from './connection.ts'
import { parseRing } from './rings.ts'

/** The pauses of a bell of which each reading has so many rings. */
async function pausesOf(sizes: number[], pauses?: Pauses): Promise<readonly number[]> {
  const clock = new ManualClock({ passBelowMs: 1_000 })
  const rung: Entry[] = []
  const ring = () => rung.push([`${rung.length + 1}-1`, ['epoch', 'e', 'what', 'events', 'subject', 'lab:ada']])
  const listening = {
    xrevrange: async () => rung.slice(-1),
    xread: async () => {
      const size = sizes.shift()
      if (size === undefined) {
        bell.close()
        return null
      }
      for (let i = 0; i < size; i++) ring()
      return [['bell', rung.slice(-size)]]
    },
  }
  const connection = { listening, onMove: () => () => {} }
  const bell = new BellOf(connection as unknown as Connection, 'bell', clock, parseRing, () => {}, pauses)
  await bell.listen()
  return clock.waits
}

it('Bell pauses for 10 ms per ring after a reading, and for 50 ms at most', async () => {
  expect(await pausesOf([1, 2, 1, 4, 9])).toEqual([10, 20, 10, 40, 50])
})

it('Bell pauses for as long as its listeners can wait', async () => {
  expect(await pausesOf([1, 2, 9], { forRingMs: 100, mostMs: 150 })).toEqual([100, 150, 150])
})
