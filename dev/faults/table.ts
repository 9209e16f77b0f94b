/** One table of the attacks' RESULT lines, and of vitest's reports on tests that wrote none. */
import { type Result, whyRed } from '../../test/kit/attack/result.ts'
import { type FileReport, failuresOf, firstLine, type VitestReport } from '../test/counts.ts'

export interface Row extends Partial<Omit<Result, 'test' | 'error'>> {
  readonly test: string
  /** The reason why it is red; null when it is green. */
  readonly red: string | null
}

/** Parses the lines of a file of results. */
export function parseResults(text: string): Result[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

/** One row for each line, and one for each test or file that failed without a line; in order of their numbers. */
export function makeRows(results: readonly Result[], reports: readonly VitestReport[]): Row[] {
  const reported = results.map((result): Row => {
    const { error: _, ...rest } = result
    return { ...rest, red: whyRed(result) }
  })
  const failures = reports.flatMap(({ testResults }) => testResults.flatMap(rowsOf))
  // A test can fail after its green line, while it cleans up.
  const rows = reported.map(row => ({
    ...row,
    red: row.red ?? failures.find(({ test }) => test === row.test)?.red ?? null,
  }))
  const silent = failures.filter(({ test }) => !reported.some(row => row.test === test))
  return [...rows, ...silent].sort((a, b) => a.test.localeCompare(b.test, 'en', { numeric: true }))
}

const rowsOf = (file: FileReport): Row[] =>
  failuresOf(file).map(({ title, message }) => ({
    test: title ?? file.name ?? 'a file',
    red: firstLine(message) || 'it failed without a message',
  }))

const headings = ['test', 'injected', 'landed', 'missed', 'violations', 'p50 ms', 'p99 ms', 'seed', 's', '']

/** The table, the violations in it, and the sum. */
export function formatTable(rows: readonly Row[]): string {
  const cells = rows.map(row => [
    row.test,
    ...[row.injected, row.landed, row.missed, row.violations?.length, row.p50, row.p99, row.seed].map(text),
    row.seconds === undefined ? '–' : row.seconds.toFixed(0),
    row.red === null ? 'green' : 'RED',
  ])
  const reds = rows.filter(({ red }) => red !== null)
  const sum = (of: (row: Row) => number | undefined) => rows.reduce((total, row) => total + (of(row) ?? 0), 0)
  const summary = [
    `${rows.length} attacks`,
    `${sum(row => row.injected)} faults injected`,
    `${sum(row => row.landed)} landed`,
    `${sum(row => row.missed)} missed`,
    `${sum(row => row.violations?.length)} violations`,
    `${reds.length} red`,
  ]
  return [...columns([headings, ...cells], 1), ...reds.flatMap(explain), summary.join(', ')].join('\n')
}

const text = (value: number | undefined) => (value === undefined ? '–' : String(value))

const mostWords = 10

/** Several violations, since a later one may explain more than the first; all of them are in the kept lines. */
function explain({ test, red, violations = [], fleets = [] }: Row): string[] {
  const words = [...new Set([red!, ...violations])]
  const more = words.length - mostWords
  return [
    `RED ${test}`,
    ...words.slice(0, mostWords).map(each => `    ${each}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
    ...(fleets.length > 0 ? [`    logs: ${fleets.join(', ')}`] : []),
  ]
}

/** Aligns lines of cells in columns: the first `left` to the left, the others (numbers) to the right. */
export function columns(lines: readonly (readonly string[])[], left: number): string[] {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map(line => line[i]!.length)))
  const pad = (cell: string, i: number) => (i < left ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))
  return lines.map(line => line.map(pad).join('  ').trimEnd())
}
