import { describe, expect, it } from 'vitest'
import { formatTraceparent, noTracing, originFields, parseTraceparent } from './tracing.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

describe('a traceparent', () => {
  it('is read and written', () => {
    for (const sampled of [true, false]) {
      const context = { traceId, spanId, sampled }
      expect(parseTraceparent(formatTraceparent(context))).toEqual(context)
    }
  })

  it('of a later version is read as far as it is known', () => {
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
  ])('is not %j', text => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})

it('without a receiver hands on what the client said, and nothing that is no trace', () => {
  const given = formatTraceparent({ traceId, spanId, sampled: true })
  const request = noTracing.request(given)
  expect(request.traceparent).toBe(given)
  expect(request.child('step').traceparent).toBe(given)
  expect(noTracing.request('; DROP').traceparent).toBeUndefined()
})

it('is named in logs by its id alone', () => {
  const given = formatTraceparent({ traceId, spanId, sampled: true })
  expect(originFields('abc', given)).toEqual({ requestId: 'abc', traceId })
  expect(originFields(undefined, undefined)).toEqual({})
})
