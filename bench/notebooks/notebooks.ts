/**
 * Kubeflow's culler and ours beside the same notebooks, on nodes of KWOK, with pretended Jupyter servers: what each writes, whom
 * it stops, and when. docs/bench.md explains the result and how to build Kubeflow's controller.
 *   npm run bench -- notebooks --kubeflow PROGRAM --definition FILE [--busy 12] [--hung 30] [--away 17] [--minutes 6]
 *     [--timeout 2]
 */
import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { waitUntil } from '../../dev/process/api-client.ts'
import { stopProcess } from '../../dev/process/process.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { stamps } from '../../src/kube/labels.ts'
import type { AdminKube } from '../../test/kit/cluster/kube.ts'
import { writesTo } from '../measure/audit.ts'
import { type BenchContext, setupBench } from '../measure/bench-stack.ts'
import { machine, nodesFor } from '../measure/machine.ts'
import { round } from '../measure/statistics.ts'
import { cpuSeconds } from '../measure/usage.ts'
import type { AskedCounts } from './fakes.ts'
import { type Site, type SiteOptions, withSite } from './site.ts'

/** How many notebooks of each sort there are beside the idle one; the limits are in minutes. */
interface Options {
  readonly busy: number
  readonly hung: number
  readonly away: number
  readonly minutes: number
  readonly timeout: number
}

/** How ours writes its annotations; undefined: Kubeflow's culler. */
type Half = 'kubeflow' | 'always' | 'onchange'

const namespace = 'team'
const path = `/apis/kubeflow.org/v1/namespaces/${namespace}/notebooks`
const sampleMs = 1000
const readyLimitMs = 300_000

export async function notebooksBench(
  args: readonly string[],
  progress: Progress,
  signal: AbortSignal,
): Promise<object> {
  const { controller, definition, ...options } = optionsOf(args)
  const names = namesOf(options)
  const tools = await setupBench(nodesFor(names.length), progress, signal)
  const context: SiteOptions = { tools, progress, signal, controller, definition, notebooks: names.length }
  const halves: Partial<Record<Half, object>> = {}
  for (const half of ['kubeflow', 'always', 'onchange'] as const) {
    halves[half] = await progress.part(half, () => withSite(context, site => run(site, half, names, options, context)))
  }
  return { bench: 'notebooks', conditions: { ...options, notebooks: names.length, ...machine() }, ...halves }
}

function optionsOf(args: readonly string[]): Options & Pick<SiteOptions, 'controller' | 'definition'> {
  const number = (value: string) => ({ type: 'string', default: value }) as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ busy: number('12'), hung: number('30'), away: number('17'), minutes: number('6'), timeout: number('2') },
      ...{ kubeflow: { type: 'string' }, definition: { type: 'string' } },
    },
  })
  const { kubeflow: controller, definition, ...numbers } = values
  if (!controller || !definition) throw new TypeError('--kubeflow and --definition are needed: see docs/bench.md')
  const [busy, hung, away, minutes, timeout] = [
    numbers.busy,
    numbers.hung,
    numbers.away,
    numbers.minutes,
    numbers.timeout,
  ].map(Number)
  return { controller, definition, busy: busy!, hung: hung!, away: away!, minutes: minutes!, timeout: timeout! }
}

const namesOf = ({ busy, hung, away }: Options): readonly string[] => [
  'idle-1',
  ...Object.entries({ busy, hung, away }).flatMap(([sort, count]) =>
    Array.from({ length: count }, (_, index) => `${sort}-${index + 1}`),
  ),
]

async function run(
  site: Site,
  half: Half,
  names: readonly string[],
  { minutes, timeout }: Options,
  { signal }: BenchContext,
): Promise<object> {
  const { kube, auditLog, fakes } = site
  await fill(site, names, signal)
  const from = statSync(auditLog).size
  const begunMs = systemClock.monotonicMs()
  const variables = { ENABLE_CULLING: 'true', CULL_IDLE_TIME: `${timeout}`, IDLENESS_CHECK_PERIOD: '1' }
  const pids = half === 'kubeflow' ? [await site.startKubeflow(variables)] : await startOurs(site, half, variables)
  const stoppedAfter = new Map<string, number>()
  while (systemClock.monotonicMs() < begunMs + minutes * 60_000) {
    for (const name of await stopped(kube)) {
      if (!stoppedAfter.has(name)) stoppedAfter.set(name, (systemClock.monotonicMs() - begunMs) / 1000)
    }
    await systemClock.sleep(sampleMs, signal)
  }
  const cpu = pids.map(cpuSeconds)
  const [kubeflow, ours] = await Promise.all(
    ['notebook-controller/', 'skylab/'].map(agent => writesTo('notebooks', agent, auditLog, from)),
  )
  const counts = await fakes.ask<AskedCounts>({ do: 'counts' })
  const asked = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const perNotebookAndMinute = (count: number) => round(count / names.length / minutes, 2)
  return {
    writes: perNotebookAndMinute((half === 'kubeflow' ? kubeflow! : ours!).objects),
    status_by_kubeflow: perNotebookAndMinute(kubeflow!.status),
    objects_by_kubeflow: perNotebookAndMinute(kubeflow!.objects),
    asked: perNotebookAndMinute(asked),
    idle_stopped_s: round(stoppedAfter.get('idle-1') ?? Number.NaN, 1),
    stopped: sortsOf([...stoppedAfter.keys()]),
    cpu_s: cpu.map(seconds => round(seconds, 1)),
  }
}

/** Kubeflow's controller goes on beside ours: it scales what ours stops. */
async function startOurs(site: Site, notebook: 'always' | 'onchange', variables: Readonly<Record<string, string>>) {
  await site.startKubeflow({ ENABLE_CULLING: 'false' })
  const replicas = await site.startReplicas(3, { enabled: true, annotations: { notebook } }, variables)
  return replicas.map(({ pid }) => pid)
}

/** Makes notebooks, and waits until their pods run at an address where the pretended servers listen. */
async function fill(site: Site, names: readonly string[], signal: AbortSignal): Promise<void> {
  const { kube, port } = site
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } as KubeObject)
  await site.startKubeflow({ ENABLE_CULLING: 'false' })
  for (const name of names) {
    const { status, body } = await kube.request('POST', path, notebook(name, port))
    if (status !== 201) throw new Error(`notebook ${name}: ${status} ${JSON.stringify(body)}`)
  }
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const areRunning = async () => {
    await systemClock.sleep(sampleMs, signal)
    const items = (await kube.list(pods)) as readonly (KubeObject & { status: { phase: string } })[]
    return items.filter(({ status }) => status.phase === 'Running').length === names.length
  }
  await waitUntil(areRunning, { what: 'the pods of all notebooks', limitMs: readyLimitMs, signal })
  for (const [index, name] of names.entries()) {
    const podIP = `127.77.${index >> 8}.${(index & 255) + 1}`
    await kube.patch('Pod', `${name}-0`, namespace, { status: { podIP, podIPs: [{ ip: podIP }] } }, 'status')
  }
  await stopProcess(site.stateDir, 'notebook-controller', 5000)
}

const notebook = (name: string, containerPort: number) => ({
  ...{ apiVersion: 'kubeflow.org/v1', kind: 'Notebook', metadata: { name } },
  spec: {
    template: {
      spec: {
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name, image: 'notebook', ports: [{ containerPort }] }],
      },
    },
  },
})

async function stopped(kube: AdminKube): Promise<readonly string[]> {
  const notebooks = await kube.list(path)
  return notebooks.filter(({ metadata }) => metadata.annotations?.[stamps.stopped]).map(({ metadata }) => metadata.name)
}

function sortsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const sorts: Record<string, number> = { idle: 0, busy: 0, hung: 0, away: 0 }
  for (const name of names) sorts[name.split('-')[0]!]! += 1
  return sorts
}
