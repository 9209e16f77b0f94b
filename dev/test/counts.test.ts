import { expect, test } from 'vitest'
import { countReport, explained, failure, formatCounts, formatFailures, noTests, single, sum } from './counts.ts'

const file = (status: string, ...tests: string[]) => ({
  name: new URL('../../src/a.test.ts', import.meta.url).pathname,
  status,
  message: 'no set-up\n    at its first line',
  assertionResults: tests.map((each, index) => ({
    status: each,
    fullName: `the test ${index}`,
    failureMessages: each === 'failed' ? ['Error: 3 is not 4\n    at a line'] : [],
  })),
})

test('countReport counts tests over all files, and names what failed', () => {
  const testResults = [file('passed', 'passed', 'passed', 'skipped'), file('failed', 'failed', 'passed', 'todo')]
  const failures = ['src/a.test.ts > the test 0: Error: 3 is not 4']
  expect(countReport({ testResults })).toEqual({ passed: 3, failed: 1, skipped: 2, failures })
})

test('countReport counts a file with a failed set-up as a failure', () => {
  const failures = ['src/a.test.ts: no set-up']
  const one = { ...noTests, failed: 1, failures }
  expect(countReport({ testResults: [file('failed', 'skipped', 'skipped')] })).toEqual({ ...one, skipped: 2 })
  expect(countReport({ testResults: [file('failed')] })).toEqual(one)
})

test('formatCounts sums suites up in one line', () => {
  const all = sum({ ...noTests, passed: 300, skipped: 1 }, { ...noTests, passed: 20, failed: 2 })
  expect(formatCounts(all)).toBe('320 passed, 2 failed, 1 skipped')
})

test('formatFailures lists what failed in all suites, at most 20 lines of it', () => {
  expect(formatFailures(sum(explained('types', single(true)), noTests))).toBe('')
  const two = sum(explained('lint', single(false)), failure('the demo', 'no lab\nin time'))
  expect(formatFailures(two)).toBe('Failed:\n  lint: failed: its output is above\n  the demo: no lab\n')
  const many = Array.from({ length: 23 }, (_, index) => failure(`test ${index}`, 'x'.repeat(900))).reduce(sum, noTests)
  const lines = formatFailures(many).trimEnd().split('\n')
  expect(lines).toHaveLength(22)
  expect(lines.at(-1)).toBe('  … and 3 more')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(550)
})
