/**
 * `npm run demo -- --all`: one cluster with everything on. A tenant has an app, a lab and a container on a machine; what is left
 * alone ends, and one bill says who pays for what.
 */
import { systemClock } from '../../src/base/clock.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { cloudBeside } from '../dispatch/beside.ts'
import { endMachines } from '../dispatch/site.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { whyNoNodeNow } from '../run/claim.ts'
import { openRun } from '../run/run.ts'
import { setup, type Tools } from '../setup/setup.ts'
import { setupStack } from '../stack/stack.ts'
import { bill as rowsOf } from '../tenants/bill.ts'
import { remove } from '../tenants/steps.ts'
import { amountsOf } from './bill.ts'
import { type AllReport, formatAllGuide, type Remains, requireFacts, requireRemains } from './report.ts'
import { type AllSite, startAll, stopAll, tenant } from './site.ts'
import { tellStory } from './story.ts'

interface Context {
  readonly options: DemoOptions
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function demoOfAll(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const reason = whyNoNodeNow()
  if (reason) throw new Error(`There is no node for labs and apps: ${reason}`)
  await setup(['postgres'], progress, signal)
  const tools = await setupStack({ ...options.cluster, audit: false }, progress, signal)
  const context = { options, tools, progress, signal }
  const run = await openRun(progress)
  let report: AllReport | undefined
  try {
    const site = await startAll({ ...context, stateDir: run.stateDir })
    try {
      report = await show(context, site, roundSeconds(systemClock.monotonicMs() - begunMs))
    } finally {
      await stopAll(site)
    }
  } finally {
    await progress.part('take down', async () => {
      await endMachines(cloudBeside(run.stateDir))
      await run.close()
    })
  }
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

async function show(context: Context, site: AllSite, setupSeconds: number): Promise<AllReport> {
  const { options, progress, signal, tools } = context
  const tell = (text: string) => say(options, `${text}\n`)
  const begunMs = systemClock.monotonicMs()
  const facts = await tellStory({ site, tell, signal })
  requireFacts(facts)
  const story = roundSeconds(systemClock.monotonicMs() - begunMs)
  const report: AllReport = {
    ...addressesOf(site),
    ...facts,
    remains: null,
    seconds: { setup: setupSeconds, story, delete: null },
  }
  progress.summary()
  if (options.once) return takeAway(context, site, report, tell)
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  say(options, formatAllGuide(report, tools.program('kubectl')))
  progress.say(howToEnd())
  await aborted(signal)
  return report
}

function addressesOf({ stack, tenants, apps, dispatch, people }: AllSite) {
  const all = [...stack.replicas, tenants, apps.controller, apps.gateway, dispatch]
  return {
    url: stack.url,
    urls: { tenants: tenants.url, apps: apps.controller.url, gateway: apps.gateway.url, dispatch: dispatch.url },
    kubeconfig: stack.cluster.kubeconfig,
    people: Object.fromEntries(
      Object.values(people).map(({ name, token, kubeconfig }) => [name, { token, kubeconfig }]),
    ),
    processes: all.map(({ name, pid }) => ({ name, pid })),
  }
}

async function takeAway(
  { signal }: Context,
  site: AllSite,
  report: AllReport,
  tell: (text: string) => void,
): Promise<AllReport> {
  tell('\n7. ada deletes the namespace of her team. Her bill stays:')
  const seconds = await remove({ ...site, admin: site.kubectl, signal }, tell)
  const remains = await remainsOf(site)
  requireRemains(remains)
  tell(
    `  after ${seconds} s nothing is left but ${remains.amounts} line of the bill: no namespace, app, lab or machine`,
  )
  return { ...report, remains, seconds: { ...report.seconds, delete: seconds } }
}

async function remainsOf({ kubectl, cloud, postgres }: AllSite): Promise<Remains> {
  const kinds = 'namespaces,clusterroles,clusterrolebindings,phapplications'
  const all = (await kubectl(['get', kinds, '-A', '-o', 'name'])).trim().split('\n')
  return {
    objects: all.filter(name => new RegExp(`/(nublado-ada|${tenant}|lns[-:]${tenant})(-|$)`).test(name)),
    machines: (await cloud.all()).filter(({ state }) => state !== 'gone').length,
    rows: (await rowsOf({ postgres })).length,
    amounts: (await amountsOf(postgres, tenant)).length,
  }
}
