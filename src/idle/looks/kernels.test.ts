import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Evidence, MalformedAnswer } from './evidence.ts'
import { readKernels } from './kernels.ts'

const nowMs = Date.parse('2025-08-14T03:25:26Z')
const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const read = (value: unknown, header = date): Evidence => readKernels({ body: JSON.stringify(value), date: header })
/** As a Jupyter server lists it. */
const kernel = (state: unknown, last_activity: unknown = '2025-08-14T03:20:26.000000Z') => ({
  id: 'b1c48325-4638-4b58-8ee9-135d3530b1dd',
  name: 'python3',
  last_activity,
  execution_state: state,
  connections: 1,
})
const instant = fc.date({
  min: new Date('1975-01-01T00:00:00Z'),
  max: new Date('9999-12-31T00:00:00Z'),
  noInvalidDate: true,
})

describe('readKernels', () => {
  test('shows nothing without kernels', () => {
    expect(read([])).toEqual({ busy: false, ageMs: undefined })
  })

  test.each(['busy', 'starting', 'restarting', 'autorestarting', 'unknown', 'Idle', 'idle '])(
    'shows work when one kernel is %s',
    state => {
      expect(read([kernel('idle'), kernel(state)])).toEqual({ busy: true, ageMs: 0 })
    },
  )

  test.each<[string, string, Evidence]>([
    ['10 minutes', '2025-08-14T03:15:26Z', { busy: true, ageMs: 0 }],
    ['longer', '2025-08-14T03:15:25.999Z', { busy: false, ageMs: 600_001 }],
  ])('counts a kernel that is starting for %s by that', (_, since, seen) => {
    expect(read([kernel('idle', '2025-08-14T01:00:00Z'), kernel('starting', since)])).toEqual(seen)
  })

  test('shows work when one kernel starts and another one has hung', () => {
    const hung = kernel('starting', '2025-08-14T01:00:00Z')
    expect(read([hung, kernel('starting')]).busy).toBe(true)
    expect(read([hung, kernel('busy', 'garbage')]).busy).toBe(true)
    expect(read([hung, kernel('idle')])).toEqual({ busy: false, ageMs: 300_000 })
  })

  test.each(['dead', 'terminating'])('leaves out a kernel that is %s', state => {
    expect(read([kernel(state, 'garbage')])).toEqual({ busy: false, ageMs: undefined })
    expect(read([kernel(state, '2025-08-14T03:25:26Z'), kernel('idle')])).toEqual({ busy: false, ageMs: 300_000 })
  })

  test('shows the newest activity when all kernels are idle', () => {
    const times = ['2025-08-14T03:25:16.278627Z', '2025-08-14T01:00:00Z', '2025-08-14T05:25:06+02:00']
    expect(read(times.map(time => kernel('idle', time)))).toEqual({ busy: false, ageMs: 9722 })
  })

  test('counts activity ahead of the answer as activity of now', () => {
    expect(read([kernel('idle', '2099-01-01T00:00:00Z')])).toEqual({ busy: false, ageMs: 0 })
  })

  test('measures by the clock of the server, whatever it shows', () => {
    const clocks = fc.record({ at: instant, ageSeconds: fc.nat(1e8) })
    fc.assert(
      fc.property(clocks, ({ at, ageSeconds }) => {
        const header = new Date(Math.floor(at.getTime() / 1000) * 1000)
        const last = new Date(header.getTime() - ageSeconds * 1000)
        const seen = read([kernel('idle', last.toISOString())], header.toUTCString())
        expect(seen).toEqual({ busy: false, ageMs: ageSeconds * 1000 })
      }),
    )
  })

  test('shows the smallest age of any order of kernels', () => {
    const ages = fc.array(fc.nat(1e9), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(ages, all => {
        const kernels = all.map(age => kernel('idle', new Date(nowMs - age).toISOString()))
        expect(read(kernels)).toEqual({ busy: false, ageMs: Math.min(...all) })
      }),
    )
  })

  test.each<[string, unknown]>([
    ['an object', { kernels: [] }],
    ['null', null],
    ['text', 'idle'],
    ['entries that are no objects', ['idle']],
    ['an entry that is a list', [[]]],
    ['a kernel without a state', [kernel(undefined)]],
    ['a state that is not text', [kernel(7)]],
    ['a kernel without a time', [{ execution_state: 'idle' }]],
    ['a kernel that is starting, without a time', [{ execution_state: 'starting' }]],
    ['an unreadable time beside a readable one', [kernel('idle'), kernel('idle', 'yesterday')]],
    ['a time without a zone', [kernel('idle', '2025-08-14T03:25:26')]],
    ['a day without a time', [kernel('idle', '2025-08-14')]],
    ['a number as time', [kernel('idle', 1_755_141_926)]],
    ['a time of month 13', [kernel('idle', '2025-13-14T03:25:26Z')]],
    ['a year of six digits', [kernel('idle', '+275760-09-13T00:00:01Z')]],
    ['more than 1,000 kernels', Array.from({ length: 1001 }, () => kernel('busy'))],
  ])('refuses %s', (_, value) => {
    expect(() => read(value)).toThrow(MalformedAnswer)
  })

  test('accepts 1,000 kernels', () => {
    expect(read(Array.from({ length: 1000 }, () => kernel('busy'))).busy).toBe(true)
  })

  test('refuses text that is not JSON, and quotes nothing of it', () => {
    expect(() => readKernels({ body: '[secret-of-ada', date })).toThrow(new MalformedAnswer('its answer is not JSON'))
  })

  test.each([
    '',
    '2025-08-14T03:25:26Z',
    `${date}, ${date}`,
    'Thu, 14 Foo 2025 03:25:26 GMT',
    'Thu, 14 Aug 2025 03:25:26 PST',
  ])('refuses idle kernels in an answer with the date "%s"', header => {
    expect(() => read([kernel('idle')], header)).toThrow('its answer has no readable Date header')
  })

  test('shows work in an answer without a date', () => {
    expect(read([kernel('busy', undefined)], '').busy).toBe(true)
  })

  test('never shows idleness for JSON that is not a list of kernels with states and times', () => {
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.record({ execution_state: fc.jsonValue(), last_activity: fc.jsonValue() }),
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.array(entry)), value => {
        const kernels = Array.isArray(value) ? (value as readonly { execution_state?: unknown }[]) : []
        const alive = kernels.filter(
          each => each?.execution_state !== 'dead' && each?.execution_state !== 'terminating',
        )
        const result = outcomeOf(() => read(value))
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(MalformedAnswer)
          return
        }
        expect(result.busy || result.ageMs === undefined || result.ageMs >= 0).toBe(true)
        // Nothing was seen only where nothing is alive.
        if (!result.busy && result.ageMs === undefined) expect(alive).toEqual([])
      }),
    )
  })

  test('throws nothing but MalformedAnswer, whatever the text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (body, header) => {
        const result = outcomeOf(() => readKernels({ body, date: header }))
        if (result instanceof Error) expect(result).toBeInstanceOf(MalformedAnswer)
      }),
    )
  })
})

function outcomeOf<T>(work: () => T): T | Error {
  try {
    return work()
  } catch (error) {
    return error as Error
  }
}
