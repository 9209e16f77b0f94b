/** `npm run demo -- --hub`: a whole platform. Users log in to a JupyterHub, whose labs the controller starts. */
import { systemClock } from '../../src/base/clock.ts'
import { asked, assertNoTraces, makeLabDemo, username } from '../demo/lab.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { hubAccount, type Platform, withPlatform } from './platform.ts'
import { HubVisitor } from './visitor.ts'

/** Longer than the spawner's own limit. */
const spawnLimitMs = 660_000
const stopLimitMs = 200_000

/** The lab as the visitor saw it through the Hub's proxy. */
interface VisitedLab {
  /** Status of JupyterLab's page, at the address for browsers. */
  readonly http: number
  readonly url: string
}

/** The one JSON object of `--json`. */
export interface HubReport {
  /** Address of the login page. */
  readonly url: string
  /** Address of the controller. */
  readonly controller: string
  readonly kubeconfig: string
  /** Users who can log in: the token is the password. */
  readonly users: Readonly<Record<string, { readonly token: string }>>
  readonly logs: readonly string[]
  readonly lab: VisitedLab | null
  readonly seconds: { readonly setup: number; readonly spawn: number | null; readonly delete: number | null }
}

interface Context extends Platform {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function demoWithHub(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const { replicas, users } = options
  const plan = { version: options.hub!, replicas, users, progress, signal }
  const report = await withPlatform(plan, platform => {
    const setup = roundSeconds(systemClock.monotonicMs() - begunMs)
    return show({ ...platform, options, progress, signal }, setup)
  })
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

async function show(context: Context, setupSeconds: number): Promise<HubReport> {
  const { options, progress, stack, hub, signal } = context
  const people = Object.entries(stack.users).filter(([name]) => name !== hubAccount)
  const report: HubReport = {
    url: hub.url,
    controller: stack.url,
    kubeconfig: stack.cluster.kubeconfig,
    users: Object.fromEntries(people.map(([name, { token }]) => [name, { token }])),
    logs: hub.logs,
    lab: null,
    seconds: { setup: setupSeconds, spawn: null, delete: null },
  }
  progress.summary()
  if (!options.once) {
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
    say(options, formatHubGuide(report))
    progress.say(howToEnd())
    await aborted(signal)
    return report
  }
  return options.lab ? { ...report, ...(await visit(context, setupSeconds)) } : report
}

/** Logs in, asks for a lab by the form, opens it, stops it, and checks that nothing is left. */
async function visit(context: Context, setupSeconds: number): Promise<Pick<HubReport, 'lab' | 'seconds'>> {
  const { options, stack, hub, signal } = context
  const visitor = new HubVisitor({ url: hub.url, username, signal })
  await visitor.login(stack.users[username]!.token)
  say(options, `${username} has logged in, and asks for a lab by the form:\n`)
  const spawn = await timed(async () => {
    await visitor.spawn(asked)
    for await (const { progress, message } of visitor.progress()) say(options, `  ${progress} % ${message ?? ''}\n`)
    const server = await visitor.settled(spawnLimitMs)
    if (!server?.ready) throw new Error(`the Hub has no lab for ${username}`)
  })
  const { status, url } = await visitor.page('/lab')
  if (status !== 200 || !url.includes(`/user/${username}/`))
    throw new Error(`the lab does not answer: ${status} at ${url}`)
  say(options, `The lab is at ${url} after ${spawn} s, and is stopped:\n`)
  const stop = await timed(async () => {
    await visitor.stop()
    await visitor.settled(stopLimitMs)
    await assertGone(context)
  })
  say(options, `Stopped after ${stop} s: no namespace, no answer but 404, no lasting key in Redis.\n`)
  return { lab: { http: status, url }, seconds: { setup: setupSeconds, spawn, delete: stop } }
}

async function assertGone({ options, stack, tools, signal }: Context): Promise<void> {
  const { url, users, cluster, redis } = stack
  const kubectl = createKubectl(tools, cluster.kubeconfig, cluster.stateDir)
  const demo = makeLabDemo({ username, url, users, kubectl, json: options.json, signal })
  await assertNoTraces(demo, redis.url, 'The Hub has stopped the lab')
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begunMs = systemClock.monotonicMs()
  await work()
  return roundSeconds(systemClock.monotonicMs() - begunMs)
}

/** Addresses and users, for a person. */
export function formatHubGuide({ url, controller, users, kubeconfig, logs }: HubReport): string {
  const people = Object.entries(users).map(([name, { token }]) => `${name.padEnd(10)} ${token}`)
  return `
Open               ${url}
Log in as          with the password
  ${people.join('\n  ')}
The controller     ${controller}/nublado/spawner/v1
Kubernetes         export KUBECONFIG=${kubeconfig}
Logs, kept         ${logs.join('\n                   ')}
`
}
