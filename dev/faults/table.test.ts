import { expect, test } from 'vitest'
import { type Result, whyRed } from '../../test/kit/attack/result.ts'
import { formatTable, makeRows, parseResults } from './table.ts'

const green: Result = {
  ...{ test: 'T1 kill', injected: 57, landed: 57, missed: 0, violations: [] },
  ...{ p50: 3021, p99: 3600, max: 3700, seed: 7, seconds: 31.4 },
}

test('whyRed returns null only when every blow landed, nothing was violated and the attack ended', () => {
  expect(whyRed(green)).toBeNull()
  expect(whyRed({ ...green, violations: ['I4 a gap', 'I9 twice'] })).toBe('I4 a gap')
  expect(whyRed({ ...green, error: 'expected 1 to be 2' })).toBe('expected 1 to be 2')
  expect(whyRed({ ...green, landed: 56, missed: 1 })).toBe('1 of 57 blows missed')
  expect(whyRed({ ...green, injected: 0, landed: 0 })).toBe('there was no blow')
})

const report = (...testResults: object[]) => ({ testResults }) as Parameters<typeof makeRows>[1][number]

test('makeRows adds a row for a test or a file that failed without a line', () => {
  const failed = { status: 'failed', title: 'T3 stop', failureMessages: ['Error: no fleet\n    at x'] }
  const passed = { status: 'passed', title: 'T1 kill' }
  const rows = makeRows(
    [green],
    [report({ status: 'failed', assertionResults: [passed, failed] }, broken('cannot be loaded'))],
  )
  expect(rows.map(({ test, red }) => [test, red])).toEqual([
    ['a.test.ts', 'cannot be loaded'],
    ['T1 kill', null],
    ['T3 stop', 'Error: no fleet'],
  ])
})

const broken = (message: string) => ({ name: 'a.test.ts', status: 'failed', message, assertionResults: [] })

test('makeRows marks a green line red when its test is red', () => {
  const failed = { status: 'failed', title: 'T1 kill', failureMessages: ['Error: could not be stopped'] }
  const [row] = makeRows([green], [report({ status: 'failed', assertionResults: [failed] })])
  expect(row).toMatchObject({ test: 'T1 kill', injected: 57, red: 'Error: could not be stopped' })
})

test('formatTable prints one table, the violations and a sum', () => {
  const red = { ...green, test: 'T3 stop past the lease', violations: ['I1 a', 'I9 b'], fleets: ['t1'], seconds: 9 }
  const text = JSON.stringify(green) + '\n' + JSON.stringify(red) + '\n'
  expect(formatTable([...makeRows(parseResults(text), []), { test: 'T11', red: 'no cluster' }]).split('\n')).toEqual([
    'test                    injected  landed  missed  violations  p50 ms  p99 ms  seed   s',
    'T1 kill                       57      57       0           0    3021    3600     7  31  green',
    'T3 stop past the lease        57      57       0           2    3021    3600     7   9    RED',
    'T11                            –       –       –           –       –       –     –   –    RED',
    'RED T3 stop past the lease',
    '    I1 a',
    '    I9 b',
    '    logs: t1',
    'RED T11',
    '    no cluster',
    '3 attacks, 114 faults injected, 114 landed, 0 missed, 2 violations, 2 red',
  ])
})
