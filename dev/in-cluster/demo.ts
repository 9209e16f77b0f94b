/** `npm run demo -- --in-cluster`: a lab through the Service of an installation in the cluster itself. */
import { systemClock } from '../../src/base/clock.ts'
import { asked, askLab, type DemoLab, type LabDemo, makeLabDemo, removeLab, spawnLab, username } from '../demo/lab.ts'
import type { DemoOptions } from '../demo/options.ts'
import { formatLab, howToEnd } from '../demo/report.ts'
import { roundSeconds, say } from '../demo/say.ts'
import { keepRights } from '../kube/rights.ts'
import { aborted } from '../process/program.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { openRun } from '../run/run.ts'
import { type ShownApp, showApp } from './app.ts'
import { prepareCloud } from './cloud.ts'
import { type ShownContainer, showContainer } from './container.ts'
import { askFromInside, type InsideAnswer } from './inside.ts'
import { type ShownNotebook, showNotebook } from './notebook.ts'
import { complaints, type RolloutReport, rolloutUnderLoad } from './rollout.ts'
import { type InCluster, type PlacedPod, type Prepared, placedPods, prepareInCluster, startInCluster } from './stack.ts'
import { type StartTimes, startTimes } from './start-times.ts'
import { type ShownTenant, showTenant } from './tenant.ts'

/** A node of KWOK takes 110 pods. */
const kwokNodes = (labs: number) => Math.ceil(labs / 100)

/** The one JSON object of `--json`. */
export interface InClusterReport {
  readonly url: string
  readonly kubeconfig: string
  readonly users: Readonly<Record<string, { readonly token: string }>>
  readonly image: Omit<Prepared['image'], 'layout'>
  /** Pods of replicas, Redis and CoreDNS, all ready on the real node. */
  readonly pods: readonly PlacedPod[]
  readonly inside: InsideAnswer
  readonly start: StartTimes
  readonly lab: DemoLab | null
  /** An LNamespace that became Ready; null without `--tenants`. */
  readonly tenant: ShownTenant | null
  /** A StatefulSet that nobody used; null without `--notebooks`. */
  readonly notebook: ShownNotebook | null
  /** An app that became Ready, and who sees its page; null without `--apps`. */
  readonly app: ShownApp | null
  /** A container that ran on a machine; null without `--dispatch`. */
  readonly container: ShownContainer | null
  readonly rollout: RolloutReport | null
  readonly seconds: {
    readonly setup: number
    readonly up: number
    readonly spawn: number | null
    readonly delete: number | null
  }
}

interface Context {
  readonly prepared: Prepared
  readonly options: DemoOptions
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly stack: InCluster
}

export async function demoInCluster(options: DemoOptions, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const begunMs = systemClock.monotonicMs()
  const more = options.dispatch ? (['machines', 'python', 'policies'] as const) : []
  const prepared = await prepareInCluster(progress, signal, more)
  if (options.dispatch) await prepareCloud(progress, signal)
  const preparedMs = systemClock.monotonicMs()
  const run = await openRun(progress)
  let report: InClusterReport | undefined
  let stack: InCluster | undefined
  try {
    const users = Math.max(options.users, options.rollout + 3)
    const kwok = kwokNodes(options.rollout)
    stack = await startInCluster({
      stateDir: run.stateDir,
      prepared,
      users,
      kwok,
      tenants: options.tenants,
      notebooks: options.notebooks,
      apps: options.apps,
      dispatch: options.dispatch,
      progress,
      signal,
    })
    const seconds = {
      setup: roundSeconds(preparedMs - begunMs),
      up: roundSeconds(systemClock.monotonicMs() - preparedMs),
    }
    report = await show({ options, prepared, progress, signal, stack }, seconds)
    await keepRights(stack.cluster.auditLog, 'in-cluster')
  } finally {
    await progress.part('take down', async () => {
      await stack?.podCloud?.close()
      await run.close()
    })
  }
  const wrong = report.rollout ? complaints(report.rollout) : []
  if (options.once && options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
  for (const complaint of wrong) progress.say(complaint)
  return wrong.length === 0 ? 0 : 1
}

async function show(
  context: Context,
  seconds: Pick<InClusterReport['seconds'], 'setup' | 'up'>,
): Promise<InClusterReport> {
  const { options, prepared, progress, stack, signal } = context
  const { kubectl, cluster, images, url } = stack
  const pods = await placedPods(kubectl)
  const start = await startTimes(kubectl)
  const inside = await progress.part('a pod asks the Service by its name', () =>
    askFromInside(kubectl, images.controller, stack.authority),
  )
  const tenant = options.tenants
    ? await progress.part('an LNamespace, until it is Ready', () => showTenant(stack, signal))
    : null
  if (tenant) say(options, formatTenant(tenant))
  const notebook = options.notebooks
    ? await progress.part('a StatefulSet that nobody uses, until it is stopped', () =>
        showNotebook(kubectl, images.controller, signal),
      )
    : null
  if (notebook) say(options, formatNotebook(notebook))
  const app = options.apps
    ? await progress.part('a PhApplication, until its group sees its page', () => showApp(stack, signal))
    : null
  if (app) say(options, formatApp(app))
  const { podCloud } = stack
  const container = podCloud
    ? await progress.part('a container on a machine, while the pod that keeps it is killed', () =>
        showContainer({ ...stack, podCloud }, signal),
      )
    : null
  if (container) say(options, formatContainer(container))
  const spawned = options.lab ? await spawn(context) : null
  const { layout, ...figures } = prepared.image
  const report: InClusterReport = {
    url,
    kubeconfig: cluster.kubeconfig,
    users: Object.fromEntries(Object.entries(stack.users).map(([name, { token }]) => [name, { token }])),
    ...{ image: figures, pods, inside, start, tenant, notebook, app, container, rollout: null },
    lab: spawned?.lab ?? null,
    seconds: { ...seconds, spawn: spawned?.seconds ?? null, delete: null },
  }
  progress.summary()
  if (!options.once) {
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`)
    const places = { kubectl: prepared.tools.program('kubectl'), redisUrl: stack.redisUrl, image: images.controller }
    say(options, formatInClusterGuide(report, places))
    progress.say(howToEnd())
    await aborted(signal)
    return report
  }
  const deleted = spawned ? await removeLab(labDemo(context), context.stack.redisUrl, context.options) : null
  const rollout = options.rollout > 0 ? await roll(context) : null
  return { ...report, rollout, seconds: { ...report.seconds, delete: deleted } }
}

function labDemo({ options, stack, signal }: Context): LabDemo {
  const { url, users, kubectl } = stack
  return makeLabDemo({ username, url, users, kubectl, json: options.json, signal })
}

async function spawn(context: Context): Promise<{ lab: DemoLab; seconds: number }> {
  const { options, signal } = context
  const demo = labDemo(context)
  say(options, `A lab for ${username}, through the Service:\n`)
  const begunMs = systemClock.monotonicMs()
  const { status, internal_url } = await spawnLab(demo, asked)
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const http = internal_url === null ? null : await askLab(demo.kubectl, internal_url, signal)
  const lab = { status, internal_url, http }
  say(options, `The lab is ${formatLab(lab)}, after ${seconds} s.\n`)
  return { lab, seconds }
}

async function roll({ options, progress, stack, signal }: Context): Promise<RolloutReport> {
  await progress.part('labs go to KWOK: a new configuration, and its rollout', () => stack.sendLabsTo('kwok'))
  const report = await progress.part(`rollout while ${options.rollout} labs are created`, () =>
    rolloutUnderLoad(stack, options.rollout, signal),
  )
  say(options, formatRollout(report))
  return report
}

const formatTenant = ({ name, columns, seconds }: ShownTenant) =>
  `The LNamespace ${name} was Ready after ${seconds} s, and was deleted again:\n  ${columns}\n`

const formatNotebook = ({ name, stoppedAt, seconds }: ShownNotebook) =>
  `The StatefulSet ${name}, which nobody used, was stopped at ${stoppedAt}; its pod was gone ${seconds} s after it was ready.\n`

const formatApp = ({ name, columns, member, stranger, seconds }: ShownApp) =>
  `The app ${name} was Ready after ${seconds} s. At a gateway its group got ${member}, a stranger ${stranger}:\n  ${columns}\n`

const formatContainer = ({ uuid, machine, killed, keptBy, state, output, seconds }: ShownContainer) =>
  `The container ${uuid} ran on ${machine} ${seconds.running} s after the request. The pod ${killed}, which kept the machine, was killed;
${keptBy} kept it ${seconds.takeOver} s later. It is ${state}, and the machine has ended. Its output:
${output.replaceAll(/^(?=.)/gm, '  ')}`

function formatRollout(report: RolloutReport): string {
  const { labs, failedSpawns, requests, repeated, failedRequests, streamsResumed, seconds } = report
  return `All replicas were replaced within ${seconds.rollout} s while ${labs} labs were created: ${failedSpawns.length} spawns failed;
of ${requests} requests ${repeated} took a second try, ${failedRequests.length} failed; ${streamsResumed} event streams were taken up again.\n`
}

/** Values that the report lacks. */
export interface GuidePlaces {
  /** Path of kubectl. */
  readonly kubectl: string
  readonly redisUrl: string
  /** The controller's image, by its digest in the registry of this run. */
  readonly image: string
}

/** Addresses, and commands to try, for a person. */
export function formatInClusterGuide(
  { url, kubeconfig, users, lab, inside }: Pick<InClusterReport, 'url' | 'kubeconfig' | 'users' | 'lab' | 'inside'>,
  places: GuidePlaces,
): string {
  const api = `${url}/nublado/spawner/v1`
  const as = (name: string) => `-H 'Authorization: Bearer ${users[name]?.token}'`
  const kubectl = `${places.kubectl} --kubeconfig ${kubeconfig}`
  return `
The lab of ada     ${lab ? formatLab(lab) : 'none was asked for'}
The API            ${api} (from pods: https://${inside.name}:8080)
Kubernetes         export KUBECONFIG=${kubeconfig}
Redis              ${places.redisUrl}
Registry           ${places.image.split('/')[0]}
Image              ${places.image}

Look:
  curl -sk ${as('ada')} ${api}/user-status
  curl -sk ${as('admin')} ${api}/labs
  ${kubectl} get pods -A -o wide
  ${kubectl} logs -n skylab deployment/skylab
Replace all replicas:
  ${kubectl} rollout restart -n skylab deployment/skylab
`
}
