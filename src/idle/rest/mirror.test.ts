import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAfter, listOf, Mirror } from './mirror.ts'

const names = ['ada', 'bob', 'eve'].map(user => listOf({ user }))

describe('Mirror', () => {
  it('has of each list what a full log would have, up to the number that it keeps', () => {
    const anyEvent = fc.record({ step: fc.integer({ min: 1, max: 3 }), lists: fc.subarray(names) })
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 200 }), fc.integer({ min: 1, max: 40 }), (events, most) => {
        const mirror = new Mirror(most)
        let seq = 0
        const log = events.map(({ step, lists }) => {
          seq += step
          const place = { series: 7, seq }
          const event = { place, lists, shown: { id: `7-${seq}`, event: 'warning', data: '{}' } }
          mirror.add(event)
          return event
        })
        expect(mirror.size).toBeGreaterThanOrEqual(Math.min(most, log.length))
        expect(mirror.size).toBeLessThanOrEqual(most * 1.1 + 1)
        const kept = log.slice(-mirror.size)
        for (const name of names) {
          const from = { series: 7, seq: Math.floor(seq / 2) }
          const expected = kept.filter(({ place, lists }) => lists.includes(name) && isAfter(place, from))
          expect(mirror.after(name, from, 1000)).toEqual(expected)
          expect(mirror.after(name, from, 3)).toEqual(expected.slice(0, 3))
        }
      }),
    )
  })

  it('has no list that nobody can mistake for another’s', () => {
    const lists = [{ user: 'a' }, { lab: 'a' }, 'everybody', { user: 'everybody' }, { user: 'lab' }] as const
    expect(new Set(lists.map(listOf)).size).toBe(lists.length)
  })
})
