/** Runs all attacks as they are: none may find a violation. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { besideVariable, resultsVariable, seedVariable } from '../../test/kit/attack/result.ts'
import type { VitestReport } from '../test/counts.ts'
import { onCluster, onRealNode, type RunContext } from '../test/runs.ts'
import { attackProjects, type Project, reportVitest, vitestArgs } from '../test/suites.ts'
import type { FaultsOptions } from './options.ts'
import { formatTable, makeRows, parseResults, type Row } from './table.ts'
import { filesOf } from './wings.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const attacks = 'test/integration/faults'

export interface FaultsContext extends RunContext {
  readonly options: FaultsOptions
  /** The file that collects the RESULT lines. */
  readonly results: string
}

export interface FaultsOutcome {
  readonly table: string
  readonly isRight: boolean
}

export async function runAttacks(context: FaultsContext): Promise<FaultsOutcome> {
  const { options, progress, signal, results } = context
  const reports: VitestReport[] = []
  const broken: Row[] = []
  const suite = async (name: string, run: () => Promise<VitestReport | null>) => {
    try {
      const report = await progress.part(name, run)
      if (report) reports.push(report)
    } catch (error) {
      // A part that could not begin counts as failed; an interrupt ends the run.
      signal.throwIfAborted()
      broken.push({ test: name, red: (error as Error).message })
    }
  }
  const filters = filtersOf(options)
  await suite('attacks on a cluster', () => runProjects(context, true, attackProjects, filters))
  const files = options.realNode ? filesOnRealNode(filters) : []
  if (files.length > 0) {
    await suite('attacks on a real node', () =>
      onRealNode(context, () => runProjects(context, false, ['node-alone'], files)))
  }
  const rows = [...rowsOf(results, reports), ...broken]
  return { table: formatTable(rows), isRight: rows.every(({ red }) => red === null) }
}

/** What has ended so far, of a file of RESULT lines. */
export const tableOf = (results: string): string => formatTable(rowsOf(results, []))

const rowsOf = (results: string, reports: readonly VitestReport[]): Row[] =>
  makeRows(parseResults(readFileSync(results, 'utf8')), reports)

/** A wing is chosen by its files. */
const filtersOf = ({ only, filters }: FaultsOptions): readonly string[] =>
  only === undefined || filters.length > 0
    ? filters
    : filesOf(only, readdirSync(join(checkout, attacks))).map(name => `${attacks}/${name}`)

/** The project on a real node has other tests too; filters choose among the attacks only. */
function filesOnRealNode(filters: readonly string[]): string[] {
  return readdirSync(join(checkout, attacks))
    .filter(name => name.endsWith('.node.test.ts'))
    .map(name => `${attacks}/${name}`)
    .filter(path => filters.length === 0 || filters.some(filter => path.includes(filter)))
}

/** Runs projects of vitest one after another, on a cluster of their own. */
function runProjects(
  context: FaultsContext,
  labsOnKwok: boolean,
  projects: readonly Project[],
  files: readonly string[],
): Promise<VitestReport> {
  const { options, signal, results } = context
  return onCluster(context, labsOnKwok, async ({ folder, env }) => {
    const testResults: VitestReport['testResults'][number][] = []
    for (const project of projects) {
      const args = vitestArgs(project, { pattern: options.pattern, filters: files })
      if (!args) continue
      const { report } = await reportVitest({
        project,
        args,
        env: { ...env, ...environment(options, results, true) },
        folder,
        signal,
      })
      testResults.push(...report.testResults)
    }
    return { testResults }
  })
}

/** Environment of vitest. */
export const environment = (
  { seed, beside }: FaultsOptions,
  results: string,
  isWhole: boolean,
): Record<string, string> => ({
  [resultsVariable]: results,
  ...(seed !== undefined && { [seedVariable]: String(seed) }),
  ...(beside !== undefined && { [besideVariable]: beside }),
  ...(isWhole && { SKYLAB_FAULTS: 'all' }),
})
