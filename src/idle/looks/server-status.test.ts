import { describe, expect, test } from 'vitest'
import { MalformedAnswer } from './evidence.ts'
import { readServerStatus } from './server-status.ts'

const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const read = (value: unknown) => readServerStatus({ body: JSON.stringify(value), date })

describe('readServerStatus', () => {
  test('shows the last activity of the server', () => {
    const started = '2025-08-14T03:00:00.000000Z'
    const status = { started, last_activity: '2025-08-14T03:25:16.000000Z', connections: 1, kernels: 1 }
    expect(read(status)).toEqual({ busy: false, ageMs: 10_000 })
  })

  test.each<[string, unknown]>([
    ['a list', [{ last_activity: '2025-08-14T03:25:16Z' }]],
    ['null', null],
    ['a status without the time', { started: '2025-08-14T03:25:16Z' }],
    ['an unreadable time', { last_activity: 'now' }],
  ])('refuses %s', (_, value) => {
    expect(() => read(value)).toThrow(MalformedAnswer)
  })
})
