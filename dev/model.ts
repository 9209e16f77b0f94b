/**
 * Checks the models in docs/model/: they must hold in every run without a control. A control switches one rule of the
 * protocol off and must break exactly the property that it names.   npm run model [-- NAME… | MODULE]
 */

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import dispatch from '../docs/model/dispatch.json' with { type: 'json' }
import labs from '../docs/model/runs.json' with { type: 'json' }
import { type CheckOptions, check, fetchChecker, type Verdict } from './model/checker.ts'
import { runProgram } from './process/program.ts'
import { createProgress, type Progress } from './process/progress.ts'
import { setup } from './setup/setup.ts'

type Constants = Record<string, number | boolean | string>

interface ModelRun {
  readonly name: string
  /** Whether steps are fair; if so, TLC also checks that every operation ends. */
  readonly fair?: boolean
  /** For a control: the property that it must break. */
  readonly expects?: string
  readonly constants: Constants
}

/** A module of docs/model/ with its runs. */
interface Model {
  readonly module: string
  readonly defaults: Constants
  readonly invariants: readonly string[]
  /** Whether a control looks at its own property alone. Others break on the way there, by a shorter trace that says less. */
  readonly alone: boolean
  readonly runs: readonly ModelRun[]
}

interface Result {
  readonly run: string
  readonly states: number
  readonly distinct: number
  readonly depth: number
  readonly seconds: number
  readonly expected: string
  readonly result: string
  readonly ok: boolean
  readonly trace: readonly string[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const models: readonly Model[] = [
  {
    ...labs,
    module: 'Skylab',
    alone: false,
    invariants: [
      'OneOwner',
      'OpsAreNew',
      'NothingStale',
      'NothingStaleSeen',
      'NothingLeft',
      'Settled',
      'Kept',
      'Stands',
      'NobodyCutOff',
    ],
  },
  {
    ...dispatch,
    module: 'Dispatch',
    alone: true,
    invariants: [
      'OneRun',
      'InRoom',
      'Uncut',
      'Accepted',
      'Finished',
      'Bounded',
      'NoLeak',
      'IntentFirst',
      'Known',
      'NotAgain',
    ],
  },
]

/** TLC's configuration. Safety uses symmetric replicas; with fairness, symmetry would hide operations that never end. */
export function configurationOf(model: Model, { fair, expects, constants }: ModelRun): string {
  const values: Constants = { Replicas: '{r1, r2}', None: 'None', ...model.defaults, ...constants }
  const invariants = expects && model.alone ? [expects] : model.invariants
  const show = (value: Constants[string]) => (typeof value === 'boolean' ? String(value).toUpperCase() : String(value))
  return [
    `SPECIFICATION ${fair ? 'FairSpec' : 'Spec'}`,
    ...Object.entries(values).map(([name, value]) => `CONSTANT ${name} = ${show(value)}`),
    'CHECK_DEADLOCK FALSE',
    ...(fair ? ['PROPERTY Ends'] : ['SYMMETRY Symmetry', ...invariants.map(name => `INVARIANT ${name}`)]),
    '',
  ].join('\n')
}

type Place = Pick<CheckOptions, 'java' | 'jar' | 'signal'>

async function runOne(model: Model, run: ModelRun, place: Place, progress: Progress): Promise<Result> {
  const begunMs = performance.now()
  const verdict: Verdict = await progress.part(`model: ${run.name}`, () =>
    check({
      ...place,
      module: join(root, 'docs', 'model', `${model.module}.tla`),
      configuration: configurationOf(model, run),
      folder: join(root, '.artefacts', 'model', run.name),
      // With one worker the counterexample is the shortest, and the same in each run.
      workers: run.expects ? 1 : availableParallelism(),
      onProgress: (distinct, queue) => progress.say(`  ${run.name}: ${distinct} distinct states, ${queue} to go`),
    }),
  )
  const [expected, result] = [run.expects ?? 'holds', verdict.violated ?? 'holds']
  return {
    run: run.name,
    states: verdict.generated,
    distinct: verdict.distinct,
    depth: verdict.depth,
    seconds: Number(((performance.now() - begunMs) / 1000).toFixed(1)),
    expected,
    result,
    ok: expected === result,
    trace: verdict.trace,
  }
}

function tableOf(results: readonly Result[]): string {
  const rows = [
    ['run', 'states', 'distinct', 'depth', 'seconds', 'result', ''],
    ...results.map(({ run, states, distinct, depth, seconds, result, expected, ok }) => [
      run,
      ...[states, distinct, depth, seconds].map(value => value.toLocaleString('en')),
      result === 'holds' ? result : `breaks ${result}`,
      ok ? 'as expected' : `expected: ${expected}`,
    ]),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  const isNumber = (i: number) => i >= 1 && i <= 4
  const line = (row: string[]) =>
    row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ')
  return rows.map(row => line(row).trimEnd()).join('\n')
}

async function main(signal: AbortSignal): Promise<number> {
  const names = process.argv.slice(2)
  const runs = models.flatMap(model => model.runs.map(run => ({ model, run, names: [run.name, model.module] })))
  const known = runs.flatMap(run => run.names)
  const unknown = names.filter(name => !known.includes(name))
  if (unknown.length > 0) {
    process.stderr.write(`no such run: ${unknown.join(' ')}; there are: ${[...new Set(known)].join(' ')}\n`)
    return 2
  }
  const progress = createProgress()
  const tools = await setup(['java'], progress, signal)
  const place = { java: tools.program('java'), jar: await fetchChecker(progress, signal), signal }
  const results: Result[] = []
  for (const { model, run } of runs.filter(
    each => names.length === 0 || each.names.some(name => names.includes(name)),
  )) {
    const result = await runOne(model, run, place, progress)
    results.push(result)
    process.stdout.write(`RESULT ${JSON.stringify(result)}\n`)
  }
  process.stdout.write(`${tableOf(results)}\n`)
  for (const { run, trace } of results) {
    if (trace.length > 0) process.stdout.write(`\n${run}: ${trace.join(' → ')}\n`)
  }
  return results.every(({ ok }) => ok) ? 0 : 1
}

await runProgram(main)
