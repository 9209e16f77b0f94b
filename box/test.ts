// All tests, with all that they take:  npm test -- --help
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from './api-client.ts'
import { lockRealNode, whyNoRealNode } from './node-claim.ts'
import { aborted, runProgram } from './program.ts'
import { createProgress, type Progress } from './progress.ts'
import { openRun } from './run.ts'
import { setup, type Tools } from './setup.ts'
import { setupStack } from './stack.ts'
import { startTestCluster } from './test-cluster.ts'
import { parseTestOptions, type TestOptions, UsageError, usage } from './test-options.ts'
import {
  type Counts,
  checkTypes,
  formatCounts,
  lint,
  noTests,
  type Project,
  runDemo,
  runVitest,
  sum,
} from './test-suites.ts'

const usageCode = 2
/** Longer than the tests of another run that have it. */
const realNodeLimitMs = 180_000
const logsFolder = fileURLToPath(new URL('../.artefacts/test-logs', import.meta.url))

interface Context {
  readonly options: TestOptions
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Everything is brought first: what comes later then costs only what it does. */
function bringTools({ unit, realNode, choice }: TestOptions, progress: Progress, signal: AbortSignal): Promise<Tools> {
  if (unit) return setup(['redis', 'balancer'], progress, signal)
  return setupStack({ ...choice, realNode: realNode ? 'auto' : 'never', kwok: 1, audit: true }, progress, signal)
}

async function test(options: TestOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const tools = await bringTools(options, progress, signal)
  const context = { options, tools, progress, signal }
  if (options.cluster) return stay(context)
  rmSync(logsFolder, { recursive: true, force: true })
  let counts = noTests
  const suite = async (name: string, run: () => Promise<Counts>) => {
    counts = sum(counts, await progress.part(name, run).catch(error => broken(error, context)))
  }
  if (options.whole) {
    await suite('types', () => checkTypes(signal))
    await suite('lint', () => lint(signal))
  }
  await suite('unit tests', () =>
    onRun(context, folder => runVitest({ ...vitestOf(context, folder), project: 'unit' })))
  if (!options.unit) {
    await suite('tests on a cluster', () => onCluster(context, true, ['integration', 'faults']))
    if (options.realNode)
      await suite('tests on a real node', () => onRealNode(context, () => onCluster(context, false, ['node'])))
    if (options.realNode && options.whole) await suite('the demo', () => onRealNode(context, () => runDemo(signal)))
  }
  progress.summary()
  if (existsSync(logsFolder)) progress.say(`Logs of what failed: ${logsFolder}`)
  process.stdout.write(`${formatCounts(counts)}\n`)
  return counts.failed === 0 ? 0 : 1
}

/** A suite that could not even begin has failed; what was asked to end ends. */
function broken(error: unknown, { progress, signal }: Context): Counts {
  signal.throwIfAborted()
  progress.say(error instanceof Error ? error.message : String(error))
  return { ...noTests, failed: 1 }
}

/** Waits until the machine's one real node is free; where it stays another run's, the suite is skipped, in words. */
async function onRealNode({ progress, signal }: Context, suite: () => Promise<Counts>): Promise<Counts> {
  const isFree = async () => {
    const lock = await lockRealNode()
    await lock?.release()
    return lock !== null
  }
  try {
    await waitUntil(isFree, { what: 'the real node, which another run has', limitMs: realNodeLimitMs, signal })
  } catch (error) {
    signal.throwIfAborted()
    progress.say(`Skipped: ${(error as Error).message}`)
    return { ...noTests, skipped: 1 }
  }
  return suite()
}

const vitestOf = ({ options, signal }: Context, folder: string) => ({ args: options.vitest, folder, signal })

/** Does something with a folder of its own, and takes down whatever it started. */
async function onRun<T>({ progress }: Context, work: (folder: string) => Promise<T>): Promise<T> {
  const run = await openRun(progress)
  try {
    return await work(run.stateDir)
  } finally {
    keepLogs(run.stateDir)
    await progress.part('take down', () => run.close())
  }
}

/** Runs projects of vitest on a cluster of their own, one after another. */
function onCluster(context: Context, labsOnKwok: boolean, projects: readonly Project[]): Promise<Counts> {
  return onRun(context, async stateDir => {
    const { env, stop } = await clusterFor(context, stateDir, labsOnKwok)
    try {
      let counts = noTests
      for (const project of projects) {
        counts = sum(counts, await runVitest({ ...vitestOf(context, stateDir), project, env }))
      }
      return counts
    } finally {
      await stop()
    }
  })
}

const clusterFor = ({ options, tools, progress, signal }: Context, stateDir: string, labsOnKwok: boolean) =>
  startTestCluster({ ...options.choice, stateDir, labsOnKwok, tools, progress, signal })

/** Fleets whose tests failed leave their logs. */
function keepLogs(stateDir: string): void {
  const fleets = join(stateDir, 'fleets')
  if (!existsSync(fleets)) return
  for (const name of readdirSync(fleets)) {
    const log = join(fleets, name, 'log')
    if (existsSync(log)) cpSync(log, join(logsFolder, name), { recursive: true })
  }
}

/** For who works on a test: the cluster stays, and each run of vitest costs only itself. */
function stay(context: Context): Promise<number> {
  const { progress, signal, options } = context
  return onRun(context, async stateDir => {
    const { env } = await clusterFor(context, stateDir, !options.realNode)
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const project = options.realNode ? '--project node' : '--project integration --project faults'
    process.stdout.write(`${assignments.join(' ')} npx vitest run ${project} [FILTER…]\n`)
    progress.say('Ctrl-C takes it all down.')
    await aborted(signal)
    return 0
  })
}

await runProgram(async signal => {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage)
    return 0
  }
  try {
    return await test(parseTestOptions(process.argv.slice(2), whyNoRealNode() === null), signal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${usage}`)
    return usageCode
  }
})
