import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MalformedAnswer } from './evidence.ts'
import { readTerminals } from './terminals.ts'

const nowMs = Date.parse('2025-08-14T03:25:26Z')
const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const read = (value: unknown, header = date) => readTerminals({ body: JSON.stringify(value), date: header })

describe('readTerminals', () => {
  test('shows nothing without terminals, also without a date', () => {
    expect(read([], '')).toEqual({ busy: false, ageMs: undefined })
  })

  test('shows the newest activity', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1 }), ages => {
        const terminals = ages.map((age, i) => ({
          name: String(i),
          last_activity: new Date(nowMs - age).toISOString(),
        }))
        expect(read(terminals)).toEqual({ busy: false, ageMs: Math.max(0, Math.min(...ages)) })
      }),
    )
  })

  test.each<[string, unknown]>([
    ['an object', {}],
    ['a terminal without a time', [{ name: '1' }]],
    ['an unreadable time beside a readable one', [{ last_activity: '2025-08-14T03:25:26Z' }, { last_activity: '' }]],
    ['more than 1,000 terminals', Array.from({ length: 1001 }, () => ({ last_activity: '2025-08-14T03:25:26Z' }))],
  ])('refuses %s', (_, value) => {
    expect(() => read(value)).toThrow(MalformedAnswer)
  })
})
