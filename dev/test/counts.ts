/** Counts of suites, and a line for each failure: the end of a run says what failed, also where its beginning is lost. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('../..', import.meta.url))

/** Longest shown part of a message, in characters. */
const longestMessage = 500
const mostShown = 20

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** For each known failure its test and the first line of its message. */
  readonly failures: readonly string[]
}

export const noTests: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] }

export const sum = (a: Counts, b: Counts): Counts => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
  failures: [...a.failures, ...b.failures],
})

/** The last line of `npm test`. */
export const formatCounts = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`

/** Counts of a suite with one result, such as the type check. */
export const single = (isRight: boolean): Counts => ({ ...noTests, [isRight ? 'passed' : 'failed']: 1 })

/** Counts of a suite that could not begin. */
export const failure = (suite: string, message: string): Counts => ({
  ...noTests,
  failed: 1,
  failures: [failureLine(suite, message)],
})

/** Names the suite for failures that no test explains. */
export function explained(suite: string, counts: Counts): Counts {
  const { failed, failures } = counts
  if (failed <= failures.length) return counts
  return { ...counts, failures: [...failures, failureLine(suite, 'failed: its output is above')] }
}

/** What failed, for the end of the run; empty when nothing did. */
export function formatFailures({ failures }: Counts): string {
  if (failures.length === 0) return ''
  const more = failures.length > mostShown ? [`  … and ${failures.length - mostShown} more`] : []
  return `${['Failed:', ...failures.slice(0, mostShown).map(line => `  ${line}`), ...more].join('\n')}\n`
}

/** The used part of vitest's JSON report. */
export interface VitestReport {
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name?: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly title?: string
      readonly fullName?: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

export type FileReport = VitestReport['testResults'][number]

/** A file that failed outside its tests, for example in its set-up, counts as one more failure. */
export function countReport({ testResults }: VitestReport): Counts {
  return testResults.map(countFile).reduce(sum, noTests)
}

function countFile(file: FileReport): Counts {
  const { name = 'a file', assertionResults } = file
  const count = (status: string) => assertionResults.filter(each => each.status === status).length
  const failures = failuresOf(file)
  return {
    passed: count('passed'),
    failed: failures.length,
    skipped: assertionResults.length - count('passed') - count('failed'),
    failures: failures.map(({ fullName, message }) =>
      failureLine([relative(checkout, name), fullName].filter(Boolean).join(' > '), message),
    ),
  }
}

export interface Failure {
  /** Undefined for a file that failed outside its tests. */
  readonly title?: string
  /** The titles of the test's groups, and its own. */
  readonly fullName?: string
  readonly message: string
}

/** The tests of a file that failed; the file itself when it failed outside its tests. */
export function failuresOf({ status, message = '', assertionResults }: FileReport): Failure[] {
  const failed = assertionResults.filter(each => each.status === 'failed')
  if (status === 'failed' && failed.length === 0) return [{ message }]
  return failed.map(({ title = 'a test', fullName = title, failureMessages: [first = ''] = [] }) => ({
    title,
    fullName,
    message: first,
  }))
}

/** The line of one failure: its test and the first line of its message, shortened. */
export function failureLine(name: string, message: string): string {
  const line = firstLine(message)
  return line === '' ? name : `${name}: ${line.slice(0, longestMessage)}`
}

export const firstLine = (text: string): string => text.trim().split('\n')[0]!
