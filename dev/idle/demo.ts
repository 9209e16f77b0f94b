/** `npm run demo -- --idle`: five labs are left alone. Those that nobody uses end, after a warning; busy ones never. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '../../src/base/clock.ts'
import { stamps } from '../../src/kube/labels.ts'
import { labNames } from '../../src/labs/names.ts'
import { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { asked, makeLabDemo, spawnLab } from '../demo/lab.ts'
import type { DemoOptions } from '../demo/options.ts'
import { howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'
import { aborted, UsageError } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { type Stack, setupStack, startStack } from '../stack/stack.ts'
import { ActivityClient } from './client.ts'
import { accounts, type Person, people } from './people.ts'
import { type IdleReport, type LabOutcome, renderOutcomes } from './report.ts'

const rule = { idleTimeoutSeconds: 60, warnSeconds: 20 }
/** How long the others are watched after the time-out: several checks. */
const afterTimeoutMs = 20_000
const stopLimitMs = 180_000

interface Context {
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly stack: Stack
  readonly kubectl: Kubectl
  /** The token of all labs. */
  readonly labToken: string
  readonly admin: ActivityClient
}

export async function demoOfIdleness(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const tools = await setupStack({ ...options.cluster, audit: false }, progress, signal)
  const run = await openRun(progress)
  let report: IdleReport | undefined
  try {
    const { stateDir } = run
    const labToken = randomBytes(16).toString('hex')
    const common = { stateDir, tools, progress, signal, accounts: accounts(), overrides: overrides(labToken) }
    const stack = await startStack({ ...options, ...options.cluster, ...common })
    try {
      if (stack.labsOnKwok) throw new UsageError('--idle: needs a real node, whose kubelet runs real JupyterLabs')
      const setup = roundSeconds(systemClock.monotonicMs() - begunMs)
      const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stack.cluster.stateDir)
      const admin = new ActivityClient({ url: stack.url, token: stack.users.admin!.token, signal })
      report = await show({ options, progress, signal, stack, kubectl, labToken, admin }, setup)
    } finally {
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  return 0
}

/** Checks as often as a demo wants them. A site has a minute, and a time-out of hours. */
const overrides = (labToken: string) => ({
  lab: { env: { JUPYTER_TOKEN: labToken } },
  idle: {
    enabled: true,
    checkPeriodSeconds: 3,
    restPeriodSeconds: 6,
    rules: [{ name: 'demo', ...rule, keepAlive: { maxSeconds: 3600 } }],
  },
})

async function show(context: Context, setup: number): Promise<IdleReport> {
  const { options, progress, stack, signal } = context
  const begunMs = systemClock.monotonicMs()
  say(options, `\nA lab for each of ${people.map(({ name }) => name).join(', ')}:\n`)
  await Promise.all(people.map(person => spawn(context, person)))
  const spawned = systemClock.monotonicMs()
  const labs = await watch(context)
  progress.summary()
  say(options, `\n${renderOutcomes(labs)}\n`)
  const report: IdleReport = {
    url: stack.url,
    kubeconfig: stack.cluster.kubeconfig,
    users: Object.fromEntries(Object.entries(stack.users).map(([name, { token }]) => [name, { token }])),
    rule,
    labs,
    seconds: {
      setup,
      spawn: roundSeconds(spawned - begunMs),
      watched: roundSeconds(systemClock.monotonicMs() - spawned),
    },
  }
  requireOutcomes(labs)
  if (options.once) return report
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  progress.say(howToEnd())
  await aborted(signal)
  return report
}

async function spawn({ stack, kubectl, signal }: Context, { name }: Person): Promise<void> {
  const demo = makeLabDemo({ username: name, url: stack.url, users: stack.users, kubectl, json: true, signal })
  await spawnLab({ ...demo, show: () => {} }, asked)
}

/** Leaves all labs alone, and tells what comes of them. */
async function watch(context: Context): Promise<readonly LabOutcome[]> {
  const { options, signal } = context
  const stopped = new Map<string, number>()
  const news = follow(context)
  const leftMs = systemClock.monotonicMs()
  const since = () => roundSeconds(systemClock.monotonicMs() - leftMs)
  await Promise.all(people.map(person => leave(context, person)))
  say(options, `All are left alone. A lab ends after ${rule.idleTimeoutSeconds} s without activity.\n`)
  const ends = people.map(async ({ name, isStopped }) => {
    if (!isStopped) return
    await gone(context, name)
    stopped.set(name, since())
    say(options, `  ${String(since()).padStart(6)} s  ${name}: the lab is gone\n`)
  })
  await Promise.all(ends)
  const restMs = leftMs + rule.idleTimeoutSeconds * 1000 + afterTimeoutMs - systemClock.monotonicMs()
  if (restMs > 0) await systemClock.sleep(restMs, signal)
  news.end()
  return Promise.all(people.map(person => outcomeOf(context, person, stopped.get(person.name) ?? null)))
}

/** Prints the events of all labs as they come. */
function follow({ options, admin }: Context): { readonly end: () => void } {
  const begunMs = systemClock.monotonicMs()
  let isOver = false
  const read = async () => {
    for await (const { event, data } of admin.events()) {
      if (isOver) return
      const at = String(roundSeconds(systemClock.monotonicMs() - begunMs)).padStart(6)
      const until = data.eligibleAfter === undefined ? '' : `, until ${data.eligibleAfter.slice(11, 19)}`
      say(options, `  ${at} s  ${data.id}: ${event}${until}\n`)
    }
  }
  read().catch(() => {})
  return {
    end: () => {
      isOver = true
    },
  }
}

async function leave({ stack, kubectl, labToken, signal }: Context, person: Person): Promise<void> {
  const { namespace, lab } = labNames('nublado', person.name)
  const address = (await kubectl(['get', 'service', lab, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'])).trim()
  const jupyter = new Jupyter({ address, port: 8888, prefix: '/', token: labToken })
  const activity = new ActivityClient({ url: stack.url, token: stack.users[person.name]!.token, signal })
  const stamp = async () => {
    const now = new Date(systemClock.wallMs()).toISOString()
    await kubectl(['annotate', 'pod', lab, '-n', namespace, `${stamps.stopped}=${now}`])
  }
  await person.leave({ jupyter, activity, stamp })
}

function gone({ stack, kubectl, signal }: Context, name: string): Promise<void> {
  const { admin } = makeLabDemo({ username: name, url: stack.url, users: stack.users, kubectl, json: true, signal })
  const isGone = async () => (await admin.status(name)) === null
  return waitUntil(isGone, { what: `the end of the lab of ${name}`, limitMs: stopLimitMs, signal })
}

async function outcomeOf(context: Context, person: Person, afterSeconds: number | null): Promise<LabOutcome> {
  const { name: lab, does } = person
  const { stack, kubectl, admin, signal } = context
  const client = makeLabDemo({ username: lab, url: stack.url, users: stack.users, kubectl, json: true, signal }).admin
  const stopped = (await client.status(lab)) === null
  // A lab that kubectl has stopped was not stopped for idleness.
  const view = await admin.find(lab).catch(() => undefined)
  const why = stopped
    ? (view?.stopped?.why ?? 'its pod was stamped by hand')
    : `kept: ${view?.keepUntil === undefined ? `active by ${view?.source}` : 'on request'}`
  return { lab, does, state: view?.state ?? 'stopped', stopped, why, afterSeconds }
}

/** Fails where a lab was stopped that must not be, or the other way round. */
function requireOutcomes(labs: readonly LabOutcome[]): void {
  for (const { lab, stopped } of labs) {
    const expected = people.find(({ name }) => name === lab)!.isStopped
    if (stopped !== expected) throw new Error(`the lab of ${lab} was ${stopped ? '' : 'not '}stopped`)
  }
}
