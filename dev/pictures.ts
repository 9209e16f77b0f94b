// Draws docs/trace.svg and docs/metrics.svg from a stack's data while it makes labs:  npm run pictures -- --help
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/base/clock.ts'
import { takeAppsPicture } from './apps/picture.ts'
import { LabClient } from './demo/client.ts'
import { takeHubPicture } from './hub/pictures.ts'
import { drawIdleness } from './idle/picture.ts'
import { drawMetrics } from './pictures/draw-metrics.ts'
import { drawTrace } from './pictures/draw-trace.ts'
import { askForPanel, type PanelQuery } from './pictures/panels.ts'
import { Prometheus } from './pictures/prometheus.ts'
import { TraceReceiver } from './pictures/trace-receiver.ts'
import { runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { openRun } from './run/run.ts'
import { setup } from './setup/setup.ts'
import { type Stack, setupStack, startStack } from './stack/stack.ts'

interface Options {
  readonly labs: number
  readonly hub: boolean
  readonly idle: boolean
  readonly apps: boolean
}

const usage = `usage: npm run pictures -- [OPTIONS]

  --labs N    labs made at once for docs/metrics.svg (default 100), on nodes of KWOK
  --hub       docs/hub.png instead: from the login to a lab on a real node, in Debian's Chromium
  --idle      docs/idle.svg instead: Prometheus' view while real labs are left alone
  --apps      docs/apps.png instead: from the login to pages of apps on a real node

docs/trace.svg is the creation of one lab; docs/metrics.svg is Prometheus' view while many are made.
`

function parse(args: readonly string[]): Options {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = { labs: { type: 'string', default: '100' }, hub: flag, idle: flag, apps: flag } as const
    const { values } = parseArgs({ args: [...args], options })
    const labs = Number(values.labs)
    if (!Number.isInteger(labs) || labs < 1)
      throw new UsageError(`--labs: must be a whole number from 1, not ${values.labs}`)
    return { labs, hub: values.hub, idle: values.idle, apps: values.apps }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message)
  }
}

const labsPerNode = 100
/** Users that the demo has too. */
const named = 3
/** Time shown before and after the labs. */
const marginMs = 3000

const queries: readonly PanelQuery[] = [
  { title: 'Labs by status', expression: 'max by (status) (skylab_labs)', label: 'status' },
  {
    title: 'Operations in progress',
    expression: 'sum by (state) (max by (subject_kind, state) (skylab_operations))',
    label: 'state',
  },
  {
    title: 'Requests to Kubernetes per second, by verb',
    expression: 'sum by (verb) (rate(skylab_kubernetes_request_duration_seconds_count{verb!="watch"}[3s]))',
    label: 'verb',
  },
  {
    title: 'Places taken by operations that act, by replica',
    expression: 'sum by (instance) (skylab_replica_places{state="taken"})',
    label: 'instance',
  },
  { title: 'Processors in use, by replica', expression: 'rate(process_cpu_seconds_total[3s])', label: 'instance' },
  {
    title: 'Seconds until half of the labs so far were up',
    expression:
      'histogram_quantile(0.5, sum by (le) (skylab_operation_duration_seconds_bucket{kind="create",result="complete"}))',
    label: 'from acceptance to the last event',
  },
]

async function run({ labs }: Options, signal: AbortSignal): Promise<number> {
  const progress = createProgress()
  const choice = { realNode: 'never', kwok: Math.ceil((labs + named) / labsPerNode), audit: false } as const
  const { program } = await setup(['prometheus'], progress, signal)
  const tools = await setupStack(choice, progress, signal)
  const opened = await openRun(progress)
  const receiver = await TraceReceiver.start()
  try {
    const { stateDir } = opened
    const overrides = { tracing: { endpoint: receiver.endpoint } }
    const users = named + labs
    const stack = await startStack({ ...choice, replicas: 3, users, stateDir, tools, progress, signal, overrides })
    // The first lab of a process is slower than the ones that follow.
    await progress.part('a first lab', () => make(stack, 'grace', signal))
    await write('trace.svg', await progress.part('trace', () => traceOf(stack, receiver, signal)))
    const targets = stack.replicas.map(({ monitoringPort }) => `127.0.0.1:${monitoringPort}`)
    const prometheus = await Prometheus.start({ stateDir, program: program('prometheus'), targets, signal })
    const names = Object.keys(stack.users).slice(named)
    await write('metrics.svg', await progress.part('metrics', () => metricsOf(stack, prometheus, names, signal)))
    await prometheus.stop()
    await stack.stop()
    progress.summary()
    return 0
  } finally {
    await receiver.close()
    await progress.part('take down', () => opened.close())
  }
}

/** Makes a lab and waits until it is up. */
async function make(stack: Stack, name: string, signal: AbortSignal): Promise<void> {
  const client = new LabClient({ url: stack.url, token: stack.users[name]!.token, signal })
  await client.create(name, { image_type: 'recommended', size: 'small' })
  for await (const { event, data } of client.events(name)) {
    if (event === 'failed') throw new Error(`the lab of ${name} failed: ${data}`)
  }
}

async function traceOf(stack: Stack, receiver: TraceReceiver, signal: AbortSignal): Promise<string> {
  const operation = () =>
    receiver.spans.find(({ name, attributes }) => name === 'create lab' && attributes['skylab.user'] === 'ada')
  await make(stack, 'ada', signal)
  await receiver.until(() => operation() !== undefined)
  const { traceId } = operation()!
  const isRequest = ({ kind, name }: { kind: string; name: string }) => kind === 'server' && name.startsWith('POST')
  const spans = () => receiver.spans.filter(span => span.traceId === traceId)
  await receiver.until(() => spans().some(isRequest))
  return drawTrace('The trace of a creation', spans())
}

async function metricsOf(
  stack: Stack,
  prometheus: Prometheus,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const range: { beginMs: number; endMs: number } = { beginMs: systemClock.wallMs(), endMs: 0 }
  await systemClock.sleep(marginMs, signal)
  await Promise.all(names.map(name => make(stack, name, signal)))
  await systemClock.sleep(marginMs, signal)
  range.endMs = systemClock.wallMs()
  const replicas = new Map(stack.replicas.map(({ monitoringPort, name }) => [`127.0.0.1:${monitoringPort}`, name]))
  const drawn = await Promise.all(queries.map(query => askForPanel(query, prometheus, range, replicas)))
  const title = `Metrics while ${names.length} labs are made at once by ${stack.replicas.length} replicas`
  return drawMetrics(title, drawn, (range.endMs - range.beginMs) / 1000)
}

async function write(name: string, svg: string): Promise<void> {
  await writeFile(fileURLToPath(new URL(`../docs/${name}`, import.meta.url)), svg)
}

const pictureAt = (name: string) => fileURLToPath(new URL(`../docs/${name}.png`, import.meta.url))

async function take(options: Options, signal: AbortSignal): Promise<number> {
  if (!options.hub && !options.idle && !options.apps) return run(options, signal)
  if (options.hub) await takeHubPicture(pictureAt('hub'), signal)
  if (options.apps) await takeAppsPicture(pictureAt('apps'), signal)
  if (options.idle) await write('idle.svg', await drawIdleness(signal))
  return 0
}

await runCommand({ usage, parse, run: take })
