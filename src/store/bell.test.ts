import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Bell } from './bell.ts'
import type { Connection, Entry } from './connection.ts'

it('Bell pauses for 10 ms per ring after a reading, and for 50 ms at most', async () => {
  const clock = new ManualClock({ passBelowMs: 1_000 })
  const sizes = [1, 2, 1, 4, 9]
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
  const bell = new Bell(connection as unknown as Connection, 'bell', clock)
  await bell.listen()
  expect(clock.waits).toEqual([10, 20, 10, 40, 50])
})
