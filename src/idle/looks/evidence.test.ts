import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { growthOf, MalformedAnswer } from './evidence.ts'

const count = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })

describe('growthOf', () => {
  test('shows activity when the counter grew, and only then', () => {
    fc.assert(
      fc.property(count, fc.option(count, { nil: undefined }), (reading, previous) => {
        const grew = previous !== undefined && reading > previous
        expect(growthOf(reading, previous)).toEqual({ busy: false, ageMs: grew ? 0 : undefined, reading })
      }),
    )
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('refuses a counter of %d', reading => {
    expect(() => growthOf(reading, 0)).toThrow(MalformedAnswer)
  })
})
