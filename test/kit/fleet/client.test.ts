import { expect, test } from 'vitest'
import type { LabEvent } from '../../../src/base/domain.ts'
import { assertContiguous } from './client.ts'

const event = (id: string, kind: LabEvent['event'] = 'info', data = 'words'): LabEvent => ({ id, event: kind, data })

test('assertContiguous accepts one operation from its first event on, and the end of a lost stream', () => {
  const lost: LabEvent = { event: 'failed', data: 'lost' }
  expect(assertContiguous([event('7-1'), event('7-2', 'progress', '10'), event('7-3', 'progress', '10'), lost])).toBe(7)
  expect(assertContiguous([event('7-4'), event('7-5')], 4)).toBe(7)
})

test.each<[string, LabEvent[]]>([
  ['a gap', [event('7-1'), event('7-3')]],
  ['a gap at the start', [event('7-2')]],
  ['a repeat', [event('7-1'), event('7-1')]],
  ['an older one', [event('7-1'), event('7-2'), event('7-1')]],
  ['another operation', [event('7-1'), event('8-2')]],
  ['progress that falls', [event('7-1', 'progress', '20'), event('7-2', 'progress', '10')]],
  ['an event without data', [event('7-1', 'info', '')]],
])('assertContiguous throws when the events have %s', (_, events) => {
  expect(() => assertContiguous(events)).toThrow()
})
