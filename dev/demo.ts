// From nothing to a lab on a real cluster, through several replicas:  npm run demo -- --help
import { systemClock } from '../src/base/clock.ts'
import { demoOfAll } from './all/demo.ts'
import { demoOfApps } from './apps/demo.ts'
import {
  asked,
  askLab,
  type DemoLab,
  deleteLab,
  type LabDemo,
  makeLabDemo,
  removeLab,
  spawnLab,
  username,
} from './demo/lab.ts'
import { type DemoOptions, parseOptions, usage } from './demo/options.ts'
import { type DemoReport, formatGuide, formatLab, howToEnd, makeReport } from './demo/report.ts'
import { roundSeconds, say } from './demo/say.ts'
import { demoOfDispatch } from './dispatch/demo.ts'
import { demoWithHub } from './hub/demo.ts'
import { demoOfIdleness } from './idle/demo.ts'
import { demoInCluster } from './in-cluster/demo.ts'
import { createKubectl } from './kube/kubectl.ts'
import { aborted, runCommand } from './process/program.ts'
import { createProgress, type Progress } from './process/progress.ts'
import { openRun } from './run/run.ts'
import type { Tools } from './setup/setup.ts'
import { type Stack, setupStack, startStack } from './stack/stack.ts'
import { demoOfTenants } from './tenants/demo.ts'

interface Context {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly tools: Tools
  readonly stack: Stack
}

async function demo(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const tools = await setupStack({ ...options.cluster, audit: false }, progress, signal)
  const run = await openRun(progress)
  let report: DemoReport | undefined
  try {
    const { stateDir } = run
    const stack = await startStack({ ...options, ...options.cluster, stateDir, tools, progress, signal })
    try {
      const setup = roundSeconds(systemClock.monotonicMs() - begunMs)
      report = await show({ options, progress, signal, tools, stack }, setup)
    } finally {
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

/** The steps between the set-up and the take-down. */
async function show(context: Context, setup: number): Promise<DemoReport> {
  const { options, progress, stack, signal, tools } = context
  const spawned = options.lab ? await spawn(context) : null
  const report = makeReport(stack, {
    options: spawned && asked,
    lab: spawned?.lab ?? null,
    seconds: { setup, spawn: spawned?.seconds ?? null, delete: null },
  })
  progress.summary()
  if (!options.once) {
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
    say(options, formatGuide(report, tools.program('kubectl')))
    progress.say(howToEnd())
    await aborted(signal)
  }
  if (!spawned || options.keepLab || !wouldStay(context)) return report
  return { ...report, seconds: { ...report.seconds, delete: await remove(context) } }
}

/** The box takes its labs away with it; an existing cluster would keep them. */
const wouldStay = ({ options, stack }: Context) => options.once || stack.cluster.provider === 'yours'

function labDemo({ options, stack, tools }: Context, signal?: AbortSignal): LabDemo {
  const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stack.cluster.stateDir)
  return makeLabDemo({ username, url: stack.url, users: stack.users, kubectl, json: options.json, signal })
}

async function spawn(context: Context): Promise<{ lab: DemoLab; seconds: number }> {
  const { options, stack, signal } = context
  const demo = labDemo(context, signal)
  say(options, `A lab for ${username}:\n`)
  const begunMs = systemClock.monotonicMs()
  const { status, internal_url } = await spawnLab(demo, asked).catch(error => tidy(context, error))
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const reachable = !stack.labsOnKwok && stack.cluster.provider !== 'yours' && internal_url !== null
  const http = reachable ? await askLab(demo.kubectl, internal_url, signal) : null
  const lab = { status, internal_url, http }
  say(options, `The lab is ${formatLab(lab)}, after ${seconds} s.\n`)
  return { lab, seconds }
}

/** Removes what a failed or interrupted creation left in an existing cluster. Rethrows the error. */
async function tidy(context: Context, error: unknown): Promise<never> {
  const { options, stack, progress } = context
  if (stack.cluster.provider === 'yours' && !options.keepLab) {
    const say = (reason: Error) => progress.say(`Not removed: ${reason.message}`)
    await deleteLab(labDemo(context)).catch(say)
  }
  throw error
}

/** Deletes the lab; returns the seconds that took. */
function remove(context: Context): Promise<number> {
  const { options, stack, signal } = context
  // In an existing cluster the lab would stay, so there even Ctrl-C waits for the deletion.
  const demo = labDemo(context, stack.cluster.provider === 'yours' ? undefined : signal)
  return removeLab(demo, stack.redis.url, options)
}

function demoFor({ inCluster, hub, tenants, idle, apps, dispatch, all }: DemoOptions) {
  if (all) return demoOfAll
  if (dispatch && !inCluster) return demoOfDispatch
  if (inCluster) return demoInCluster
  if (apps) return demoOfApps
  if (idle) return demoOfIdleness
  if (hub) return demoWithHub
  return tenants ? demoOfTenants : demo
}

await runCommand({
  usage,
  parse: parseOptions,
  run: (options, signal) => demoFor(options)(options, signal),
})
