/** Negative controls: each takes a guard away, and the attacks that this guard withstands must turn red for that reason. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Result, whyRed } from '../../test/kit/attack/result.ts'
import type { Control } from '../../test/kit/program/control.ts'
import { controls, controlVariable, edited, isOfCluster } from '../../test/kit/program/controls.ts'
import { untilPolicy } from '../kube/policy.ts'
import { UsageError } from '../process/program.ts'
import type { FileReport } from '../test/counts.ts'
import { type ClusterRun, onCluster } from '../test/runs.ts'
import { type Project, reportVitest } from '../test/suites.ts'
import { environment, type FaultsContext, type FaultsOutcome } from './attacks.ts'
import type { FaultsOptions } from './options.ts'
import { columns, parseResults } from './table.ts'
import { hasAttack } from './wings.ts'

/** The result of one control. */
export interface Shown {
  readonly control: string
  readonly attack: string
  readonly expected: RegExp
  /** The violation that the attack reports; null without one. */
  readonly shown: string | null
}

export async function runControls(context: FaultsContext): Promise<FaultsOutcome> {
  const chosen = choose(context.options)
  const shown = await onCluster(context, true, async run => {
    const all: Shown[] = []
    for (const control of chosen) {
      all.push(...(await context.progress.part(control.name, () => onEditedCluster(context, run, control))))
    }
    return all
  })
  return { table: formatControls(shown), isRight: shown.every(isRed) }
}

/** Controls whose names contain one of the filters; some filters are for attacks only. */
function choose({ filters, only }: FaultsOptions): Control[] {
  const named = controls.filter(({ name }) => filters.length === 0 || filters.some(filter => name.includes(filter)))
  const chosen = named.filter(({ attacks }) => only === undefined || attacks.some(({ name }) => hasAttack(only, name)))
  if (chosen.length === 0) throw new UsageError(`no control is called ${filters.join(' or ')}`)
  return chosen.filter(({ attacks }) => attacks.length > 0)
}

/** Changes what an operator applied, while the control runs. */
async function onEditedCluster(context: FaultsContext, run: ClusterRun, control: Control): Promise<Shown[]> {
  const [edit] = control.edits.filter(isOfCluster)
  if (!edit) return runControl(context, run, control)
  const manifest = readFileSync(fileURLToPath(new URL(`../../${edit.file}`, import.meta.url)), 'utf8')
  await run.apply(edited(manifest, edit, control.name))
  await untilPolicy('gone', run.controllerKubeconfig, context.signal)
  try {
    return await runControl(context, run, control)
  } finally {
    await run.apply(manifest)
    await untilPolicy('at work', run.controllerKubeconfig, context.signal)
  }
}

const projectOf = (attack: string): Project => (hasAttack('idle', attack) ? 'idle-faults' : 'faults')

/** The projects of vitest.config.ts with the attacks of a control, each once. */
export const projectsOf = ({ attacks }: Pick<Control, 'attacks'>): Project[] => [
  ...new Set(attacks.map(({ name }) => projectOf(name))),
]

async function runControl(context: FaultsContext, run: ClusterRun, control: Control): Promise<Shown[]> {
  const { options, results, signal } = context
  const pattern = control.attacks.map(({ name }) => `^${name}`).join('|')
  const without = [control.beside, control.name].filter(each => each !== undefined).join(',')
  const env = { ...run.env, ...environment(options, results, control.whole ?? false), [controlVariable]: without }
  const failures: FileReport['assertionResults'][number][] = []
  for (const project of projectsOf(control)) {
    const { report } = await reportVitest({ project, args: ['-t', pattern], env, folder: run.folder, signal })
    failures.push(...report.testResults.flatMap(({ assertionResults }) => assertionResults))
  }
  const lines = parseResults(readFileSync(results, 'utf8')).filter(each => each.control === without)
  return control.attacks.map(({ name, expected }): Shown => {
    const words = lines.filter(({ test }) => test.startsWith(name)).flatMap(wordsOf)
    const messages = failures.filter(({ title }) => title?.startsWith(name)).flatMap(each => each.failureMessages ?? [])
    const all = [...words, ...messages]
    return {
      control: control.name,
      attack: name,
      expected,
      shown: all.find(each => expected.test(each)) ?? all[0] ?? null,
    }
  })
}

const wordsOf = (result: Result): string[] => [...result.violations, whyRed(result) ?? []].flat()

/** Whether the attack is red for the expected reason. */
export const isRed = ({ shown, expected }: Shown): boolean => shown !== null && expected.test(shown)

const longest = 90
const before = 30

/** The decisive line, around the expected text in it. */
function excerpt({ shown, expected }: Shown): string {
  if (shown === null) return 'nothing'
  const lines = shown.split('\n')
  const line = (lines.find(each => expected.test(each)) ?? lines[0]!).trim()
  const from = Math.max(0, Math.min(line.search(expected) - before, line.length - longest))
  return `${from > 0 ? '…' : ''}${line.slice(from, from + longest)}${from + longest < line.length ? '…' : ''}`
}

export function formatControls(all: readonly Shown[]): string {
  const cells = all.map(each => {
    const verdict = isRed(each) ? 'red' : each.shown === null ? 'GREEN' : 'red for ANOTHER reason'
    return [each.control, each.attack, String(each.expected), excerpt(each), verdict]
  })
  const red = all.filter(isRed).length
  const sum = `${all.length} controls, ${red} red for their reason, ${all.length - red} not`
  const headings = ['control', 'attack', 'expected', 'shown', '']
  return [...columns([headings, ...cells], headings.length), sum].join('\n')
}
