import { expect, test } from 'vitest'
import { readVerdict } from './checker.ts'

const holds = `Progress(14) at 2026-01-01 00:00:03: 10,234 states generated (10,234 s/min), 4,070 distinct states found (4,070 ds/min), 1,618 states left on queue.
Model checking completed. No error has been found.
  Estimates of the probability that TLC did not check all reachable states
16393 states generated, 5850 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 36.
`

const breaks = `Error: Invariant Kept is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
/\\ wire = {}

State 2: <AcceptCreate line 23, col 3 to line 30, col 49 of module Operation>
/\\ wire = {}

State 3: <RedisLoses line 48, col 3 to line 55, col 55 of module Skylab>
/\\ wire = {}

270 states generated, 171 distinct states found, 76 states left on queue.
The depth of the complete state graph search is 7.
`

test('readVerdict returns no violation when the model holds', () => {
  expect(readVerdict(holds)).toEqual({ violated: null, generated: 16393, distinct: 5850, depth: 36, trace: [] })
})

test('readVerdict returns the property and the actions of a counterexample', () => {
  const trace = ['AcceptCreate', 'RedisLoses']
  expect(readVerdict(breaks)).toEqual({ violated: 'Kept', generated: 270, distinct: 171, depth: 3, trace })
})

test('readVerdict returns the property of a run that never ends', () => {
  const stutters = breaks.replace('Invariant Kept is violated', 'Temporal properties were violated')
  expect(readVerdict(stutters)?.violated).toBe('Ends')
})

test.each([
  ['it was stopped before its end', holds.replace('Model checking completed. No error has been found.', '')],
  ['it stumbled over the model', breaks.replace('Invariant Kept is violated', 'TLC threw an unexpected exception')],
  ['it said nothing', ''],
])('readVerdict returns null when %s', (_, output) => {
  expect(readVerdict(output)).toBeNull()
})
