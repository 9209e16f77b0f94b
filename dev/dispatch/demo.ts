/**
 * `npm run demo -- --dispatch`: twelve containers on machines of a cloud that is this host. The replica that keeps a machine
 * is killed while its container runs, and operators put one machine on hold and drain another.
 */
import { existsSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { machineProcesses } from './kernel.ts'
import {
  type DispatchReport,
  formatDispatchGuide,
  type Left,
  makeReport,
  renderContainers,
  requireFacts,
  requireNothing,
} from './report.ts'
import { cloudOf, endMachines, setupDispatch, startDispatch } from './site.ts'
import { makeStage, type Stage, tellStory, until } from './story.ts'

interface Context {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** What is left of the held machine once it was killed, and how long that took. */
type Ended = Omit<Left, 'folder'> & { readonly seconds: number }

export async function demoOfDispatch(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  await setupDispatch(progress, signal)
  const run = await openRun(progress)
  let shown: { report: DispatchReport; ended: Ended } | undefined
  try {
    const site = await startDispatch({
      ...options,
      stateDir: run.stateDir,
      progress,
      signal,
      overrides: { shells: true },
    })
    try {
      const stage = makeStage(site, text => say(options, `${text}\n`), signal)
      shown = await show({ options, progress, signal }, stage, roundSeconds(systemClock.monotonicMs() - begunMs))
    } finally {
      await Promise.all(site.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', async () => {
      await endMachines(cloudOf(run.stateDir))
      await run.close()
    })
  }
  const { report, ended } = shown
  const after = machineProcesses(cloudOf(run.stateDir).folder).length
  const { seconds: killed, ...left } = {
    ...ended,
    processes: ended.processes + after,
    folder: existsSync(run.stateDir),
  }
  requireNothing(left)
  say(options, 'Nothing is left: no machine, no process, no folder.\n')
  const whole = { ...report, left, seconds: { ...report.seconds, killed } }
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(whole)}\n`)
  return 0
}

async function show(context: Context, stage: Stage, ready: number) {
  const { options, progress, signal } = context
  const { facts, seconds } = await tellStory(stage)
  stage.tell(`\n${renderContainers(facts.containers)}`)
  requireFacts(facts)
  const report = makeReport(stage.site, facts, { ready, ...seconds, killed: null })
  if (!options.once) {
    progress.summary()
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
    say(options, formatDispatchGuide(report))
    progress.say(howToEnd())
    await aborted(signal)
  }
  return { report, ended: await endHeld(stage, facts.held) }
}

/** Kills the held machine, as only an operator can, and looks for what is left of it. Ctrl-C ends the demo, and so begins this. */
async function endHeld({ site, tell }: Stage, held: string): Promise<Ended> {
  const stage = makeStage(site, tell, AbortSignal.timeout(60_000))
  const isListed = async () => (await stage.client.machines()).some(({ instance }) => instance === held)
  const begunMs = systemClock.monotonicMs()
  tell('\nOnly an operator ends a machine on hold:')
  const isHeld = await isListed()
  tell(isHeld ? `  ${await stage.client.manage('kill', held)}` : `  ${held} has ended before`)
  await until(stage, `the end of ${held}`, async () => !(await isListed()))
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const machine = (await site.cloud.read(held))?.state !== 'gone'
  const processes = machineProcesses(site.cloud.pathOf(held)).length
  tell(`  after ${seconds} s it is ${machine ? 'still there' : 'gone'}, with ${processes} processes left`)
  return { machine, processes, seconds }
}
