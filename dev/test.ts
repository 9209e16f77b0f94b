// Runs all tests and starts what they need:  npm test -- --help
import { existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { aborted, runCommand } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { whyNoRealNode } from './run/claim.ts'
import { setup } from './setup/setup.ts'
import { redisImage } from './setup/versions.ts'
import { type Counts, explained, failure, formatCounts, formatFailures, noTests, sum } from './test/counts.ts'
import { parseTestOptions, type TestOptions, usage } from './test/options.ts'
import { checkPythonTypes, lintPython, type PythonSuite, runPytest, setupPython } from './test/python.ts'
import { onCluster, onRealNode, onRun, type RunContext, setupSuites } from './test/runs.ts'
import { attackProjects, checkTypes, lint, type Project, runDemo, runVitest, vitestArgs } from './test/suites.ts'

const logsFolder = fileURLToPath(new URL('../.artefacts/test-logs', import.meta.url))

interface Context extends RunContext {
  readonly options: TestOptions
}

async function test(options: TestOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const { choice, unit, realNode } = options
  if (options.redisInContainers || choice.containers)
    await (await import('./process/containers.ts')).assertEngineAnswers()
  const tools = unit
    ? await setup(['redis', 'balancer'], progress, signal)
    : await setupSuites(choice, realNode, progress, signal)
  if (options.whole && !unit) await setupPython(progress, signal)
  const context = {
    options,
    choice,
    redisImage: redisImageOf(options),
    tools,
    progress,
    signal,
    logsFolder,
    rightsName: options.whole && !options.cluster ? 'test' : undefined,
  }
  if (options.cluster) return stay(context)
  rmSync(logsFolder, { recursive: true, force: true })
  const counts = await runSuites(context)
  progress.summary()
  if (existsSync(logsFolder)) progress.say(`Logs of what failed: ${logsFolder}`)
  process.stdout.write(`${formatFailures(counts)}${formatCounts(counts)}\n`)
  return counts.failed === 0 ? 0 : 1
}

const redisImageOf = ({ redisInContainers }: TestOptions) =>
  redisInContainers ? process.env.SKYLAB_TEST_REDIS_IMAGE || redisImage : undefined

async function runSuites(context: Context): Promise<Counts> {
  const { options, progress, signal } = context
  let counts = noTests
  const suite = async (name: string, run: () => Promise<Counts>) => {
    const result = await progress.part(name, run).catch(error => broken(name, error, context))
    counts = sum(counts, explained(name, result))
  }
  const onNode = async (run: () => Promise<Counts>) => (await onRealNode(context, run)) ?? { ...noTests, skipped: 1 }
  if (options.whole) {
    await suite('types', () => checkTypes(signal))
    await suite('lint', () => lint(signal))
  }
  if (options.whole && !options.unit) {
    const onPython = (run: (python: PythonSuite) => Promise<Counts>) => () =>
      onRun(context, folder => run({ folder, progress, signal }))
    await suite('types of the Python package', onPython(checkPythonTypes))
    await suite('lint of the Python package', onPython(lintPython))
    await suite('tests of the Python package', onPython(runPytest))
  }
  await suite('unit tests', () =>
    onRun(context, folder => runVitest({ args: vitestArgs('unit', options) ?? [], folder, signal, project: 'unit' })))
  if (!options.unit) {
    await suite('tests on a cluster', () => runProjects(context, true, ['integration', ...attackProjects]))
    if (options.realNode) {
      await suite('tests on a real node', () => onNode(() => runProjects(context, false, ['node', 'node-alone'])))
    }
    if (options.realNode && options.whole) await suite('the demo', () => onNode(() => runDemo(signal)))
  }
  return counts
}

/** A suite that could not begin has failed; an interrupt ends the run. */
function broken(suite: string, error: unknown, { progress, signal }: Context): Counts {
  signal.throwIfAborted()
  const message = error instanceof Error ? error.message : String(error)
  progress.say(message)
  return failure(suite, message)
}

/** Runs projects of vitest one after another, on a cluster of their own. */
function runProjects(context: Context, labsOnKwok: boolean, projects: readonly Project[]): Promise<Counts> {
  const { options, signal } = context
  return onCluster(context, labsOnKwok, async ({ folder, env }) => {
    let counts = noTests
    for (const project of projects) {
      const args = vitestArgs(project, options)
      if (args) counts = sum(counts, await runVitest({ args, folder, signal, project, env }))
    }
    return counts
  })
}

/** While a developer works on a test: the cluster stays, and each run of vitest costs only itself. */
function stay(context: Context): Promise<number> {
  const { progress, signal, options } = context
  return onCluster(context, !options.realNode, async ({ env }) => {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const project = options.realNode
      ? '--project node --project node-alone'
      : '--project integration --project faults --project crowd'
    process.stdout.write(`${assignments.join(' ')} npx vitest run ${project} [FILTER…]\n`)
    if (!options.realNode) progress.say('For one *.attack.ts alone, the project is: --project attack')
    progress.say('Ctrl-C stops everything.')
    await aborted(signal)
    return 0
  })
}

await runCommand({ usage, parse: args => parseTestOptions(args, whyNoRealNode() === null), run: test })
