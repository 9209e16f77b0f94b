import { describe, expect, it } from 'vitest'
import { formatTraceparent, noTracing, originFields, parseTraceparent } from './tracing.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

describe('parseTraceparent', () => {
  it('reads what formatTraceparent writes', () => {
    for (const sampled of [true, false]) {
      const context = { traceId, spanId, sampled }
      expect(parseTraceparent(formatTraceparent(context))).toEqual(context)
    }
  })

  it('reads the known fields of a later version', () => {
    expect(parseTraceparent(`cc-${traceId}-${spanId}-03-what-the-future`)).toEqual({ traceId, spanId, sampled: true })
  })

  it.each([
    undefined,
    '',
    'x',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\n`,
    `00-${traceId}-${spanId}-1`,
  ])('returns undefined for %j', text => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})

it('noTracing passes on the client’s traceparent, and nothing invalid', () => {
  const given = formatTraceparent({ traceId, spanId, sampled: true })
  const request = noTracing.request(given)
  expect(request.traceparent).toBe(given)
  expect(request.child('step').traceparent).toBe(given)
  expect(noTracing.request('; DROP').traceparent).toBeUndefined()
})

it('originFields names a trace by its id alone', () => {
  const given = formatTraceparent({ traceId, spanId, sampled: true })
  expect(originFields('abc', given)).toEqual({ requestId: 'abc', traceId })
  expect(originFields(undefined, undefined)).toEqual({})
})
