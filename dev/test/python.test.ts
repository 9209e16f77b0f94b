import { expect, test } from 'vitest'
import { noTests } from './counts.ts'
import { countJunit } from './python.ts'

test('countJunit sums the figures of a JUnit report, with errors as failures', () => {
  const suite = (figures: string) => `<testsuite name="pytest" ${figures} time="1.5"><testcase name="a"/></testsuite>`
  const xml = `<?xml version="1.0"?><testsuites name="pytest tests">${suite('errors="1" failures="2" skipped="3" tests="10"')}${suite('errors="0" failures="0" skipped="0" tests="5"')}</testsuites>`
  expect(countJunit(xml)).toEqual({ passed: 9, failed: 3, skipped: 3, failures: [] })
})

test('countJunit names the tests that failed', () => {
  const failed =
    '<testcase classname="tests.test_a" name="test_b" time="0.1"><failure message="assert 1 == 2">…</failure>'
  const suite = '<testsuite name="pytest" errors="0" failures="1" skipped="0" tests="2">'
  const xml = `<testsuites>${suite}<testcase classname="tests.test_a" name="test_a"/>${failed}</testcase></testsuite></testsuites>`
  expect(countJunit(xml)).toEqual({ ...noTests, passed: 1, failed: 1, failures: ['test_b: assert 1 == 2'] })
})

test('countJunit returns zeros without a report', () => {
  expect(countJunit('')).toEqual(noTests)
})
