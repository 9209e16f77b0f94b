// Runs all tests and starts what they need:  npm test -- --help
import { existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { aborted, runCommand } from './process/program.ts'
import { createProgress, type Progress } from './process/progress.ts'
import { whyNoRealNode } from './run/claim.ts'
import { redisImage } from './setup/versions.ts'
import { formatCounts, formatFailures } from './test/counts.ts'
import { parseTestOptions, type TestOptions, usage } from './test/options.ts'
import { setupPython } from './test/python.ts'
import { onCluster, setupSuites, setupUnit, setupVms } from './test/runs.ts'
import { runSuites, type TestContext } from './test/schedule.ts'

const logsFolder = fileURLToPath(new URL('../.artefacts/test-logs', import.meta.url))

async function test(options: TestOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  // For the control plane, which uses most of the processors while tests run (`dev/kube/control-plane.ts`).
  process.env.GOGC ??= '400'
  const { choice, unit, vm } = options
  if (options.redisInContainers || choice.containers)
    await (await import('./process/containers.ts')).assertEngineAnswers()
  const tools = await setupFor(options, progress, signal)
  if (options.whole && !unit && !vm) await setupPython(progress, signal)
  const context: TestContext = {
    options,
    choice,
    redisImage: redisImageOf(options),
    tools,
    progress,
    signal,
    logsFolder,
    rightsName: options.whole && !options.cluster && !vm ? 'test' : undefined,
  }
  if (options.cluster) return stay(context)
  rmSync(logsFolder, { recursive: true, force: true })
  const counts = await runSuites(context)
  progress.summary()
  if (existsSync(logsFolder)) progress.say(`Logs of what failed: ${logsFolder}`)
  process.stdout.write(`${formatFailures(counts)}${formatCounts(counts)}\n`)
  return counts.failed === 0 ? 0 : 1
}

function setupFor({ unit, vm, choice, realNode }: TestOptions, progress: Progress, signal: AbortSignal) {
  if (vm) return setupVms(progress, signal)
  return unit ? setupUnit(progress, signal) : setupSuites(choice, realNode, progress, signal)
}

const redisImageOf = ({ redisInContainers }: TestOptions) =>
  redisInContainers ? process.env.SKYLAB_TEST_REDIS_IMAGE || redisImage : undefined

/** While a developer works on a test: the cluster stays, and each run of vitest costs only itself. */
function stay(context: TestContext): Promise<number> {
  const { progress, signal, options } = context
  return onCluster(context, !options.realNode, async ({ env }) => {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const project = options.realNode
      ? '--project node --project node-alone'
      : '--project beside --project integration --project faults --project idle-faults --project crowd'
    process.stdout.write(`${assignments.join(' ')} npx vitest run ${project} [FILTER…]\n`)
    if (!options.realNode) progress.say('For one *.attack.ts alone, the project is: --project attack')
    progress.say('Ctrl-C stops everything.')
    await aborted(signal)
    return 0
  })
}

await runCommand({ usage, parse: args => parseTestOptions(args, whyNoRealNode() === null), run: test })
