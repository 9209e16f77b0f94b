import { expect, test } from 'vitest'
import { countJunit } from './python.ts'
import { noTests } from './suites.ts'

test('countJunit sums the figures of a JUnit report, with errors as failures', () => {
  const suite = (figures: string) => `<testsuite name="pytest" ${figures} time="1.5"><testcase name="a"/></testsuite>`
  const xml = `<?xml version="1.0"?><testsuites name="pytest tests">${suite('errors="1" failures="2" skipped="3" tests="10"')}${suite('errors="0" failures="0" skipped="0" tests="5"')}</testsuites>`
  expect(countJunit(xml)).toEqual({ passed: 9, failed: 3, skipped: 3 })
})

test('countJunit returns zeros without a report', () => {
  expect(countJunit('')).toEqual(noTests)
})
