/**
 * `npm run demo -- --apps`: a group installs MLflow, Streamlit and Shiny on a real node, and people reach them with a browser,
 * through two gateways, by a login at an OpenID provider.
 */
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { launchBrowser } from '../setup/browser.ts'
import { type Prepared, prepareApps } from './cluster.ts'
import type { AppsContext } from './context.ts'
import { formatAppsGuide } from './guide.ts'
import type { AppsReport } from './report.ts'
import { startApps } from './site.ts'
import { shownApps } from './steps.ts'
import { tell } from './story.ts'

const objects = fileURLToPath(new URL('objects', import.meta.url))

export async function demoOfApps(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const report = await withApps({ options, progress, signal }, async (context, prepared) =>
    show(context, { options, progress, prepared, setup: roundSeconds(systemClock.monotonicMs() - begunMs) }),
  )
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

export interface AppsPlan {
  readonly options: Pick<DemoOptions, 'json' | 'replicas'>
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly camera?: AppsContext['camera']
}

/** Starts all parts and a browser, does the work and stops them. */
export async function withApps<T>(
  { options, progress, signal, camera }: AppsPlan,
  work: (context: AppsContext, prepared: Prepared) => Promise<T>,
): Promise<T> {
  const prepared = await prepareApps(progress, signal)
  const run = await openRun(progress)
  try {
    const { replicas } = options
    const site = await startApps({ stateDir: run.stateDir, replicas, prepared, progress, signal })
    try {
      const browser = await launchBrowser()
      try {
        return await work({ ...site, options, browser, camera, signal }, prepared)
      } finally {
        await browser.close()
      }
    } finally {
      await Promise.all([...site.controllers, ...site.gateways].map(replica => replica.stop(0)))
      await site.provider.stop()
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

interface Shown {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly prepared: Prepared
  readonly setup: number
}

async function show(context: AppsContext, { options, progress, prepared, setup }: Shown): Promise<AppsReport> {
  const { gateways, signal } = context
  const { verdicts, seconds } = await tell(context)
  const report = await reportOf(context, verdicts, { setup, ...seconds })
  progress.summary()
  if (options.once) return report
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  const pids = gateways.map(({ name, pid }) => ({ name, pid }))
  say(options, formatAppsGuide(report, { kubectl: prepared.tools.program('kubectl'), gateways: pids, objects }))
  progress.say(howToEnd())
  await aborted(signal)
  return report
}

async function reportOf(
  context: AppsContext,
  verdicts: AppsReport['verdicts'],
  seconds: AppsReport['seconds'],
): Promise<AppsReport> {
  const { url, rest, provider, authority, cluster, people } = context
  return {
    ...{ url, rest, provider: { url: provider.url, grants: provider.grants } },
    ...{ authority: authority.file, kubeconfig: cluster.kubeconfig, people },
    ...{ apps: await shownApps(context), verdicts, seconds },
  }
}
