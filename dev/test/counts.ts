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
export const single = (name: string, isRight: boolean): Counts =>
  isRight ? { ...noTests, passed: 1 } : failure(name, 'failed: its output is above')

/** Counts of a failure outside all tests. */
export const failure = (name: string, message: string): Counts => ({
  ...noTests,
  failed: 1,
  failures: [failureLine(name, message)],
})

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

type FileReport = VitestReport['testResults'][number]

/** A file that failed outside its tests, for example in its set-up, counts as one more failure. */
export function countReport({ testResults }: VitestReport): Counts {
  return testResults.map(countFile).reduce(sum, noTests)
}

function countFile({ name = 'a file', status, message = '', assertionResults }: FileReport): Counts {
  const file = relative(checkout, name)
  const passed = assertionResults.filter(each => each.status === 'passed').length
  const failed = assertionResults.filter(each => each.status === 'failed')
  const counts = {
    passed,
    failed: failed.length,
    skipped: assertionResults.length - passed - failed.length,
    failures: failed.map(({ fullName, title = 'a test', failureMessages = [] }) =>
      failureLine(`${file} > ${fullName ?? title}`, failureMessages[0] ?? ''),
    ),
  }
  return status === 'failed' && failed.length === 0 ? sum(counts, failure(file, message)) : counts
}

/** The line of one failure: its test and the first line of its message, shortened. */
export function failureLine(name: string, message: string): string {
  const [line = ''] = message.trim().split('\n')
  return line === '' ? name : `${name}: ${line.slice(0, longestMessage)}`
}
