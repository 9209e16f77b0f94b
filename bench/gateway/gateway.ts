/**
 * The gateway beside haproxy, configurable-http-proxy, bare `node:http` and no proxy at all, in turns: rates, times, WebSockets, long bodies and
 * memory. docs/bench.md explains the result.
 *   npm run bench -- gateway [--seconds 5] [--rounds 3] [--connections 64] [--sockets 5000] [--megabytes 1024] [--young 8] [--apps 500] [--warm 6]
 */
import { nodeOptions } from '../../dev/image/node-options.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { setup } from '../../dev/setup/setup.ts'
import { systemClock } from '../../src/base/clock.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { median, round } from '../measure/statistics.ts'
import { cpuSeconds, memoryOf } from '../measure/usage.ts'
import { Worker } from '../measure/worker.ts'
import type { Counted, GatewayQuestion } from './client.ts'
import { type Contender, cores, giveWay, pin, startProxies } from './proxies.ts'

const defaults = {
  seconds: 5,
  rounds: 3,
  connections: 64,
  sockets: 5000,
  megabytes: 1024,
  young: 8,
  apps: 500,
  warm: 6,
}
type Options = typeof defaults

/** From here on a figure says more about the client and the app than about the proxy. */
const boundShare = 0.95
/** For memory to settle. */
const settleMs = 3000

export async function gatewayBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const conditions = { ...options, ...machine() }
  const tools = await setup(['redis', 'balancer'], progress, signal)
  const run = await openRun(progress)
  const { stateDir } = run
  const workers: Worker[] = []
  const start = async (name: string, nodeArgs: readonly string[] = []) => {
    const worker = new Worker({ file: new URL(name, import.meta.url), stateDir, nodeArgs })
    workers.push(worker)
    await pin(worker.pid, cores.others)
    return worker
  }
  try {
    const app = await start('upstream.ts')
    const client = await start('client.ts')
    const patient = await start('client.ts')
    await giveWay(patient.pid)
    // The gateway gets it after the image's options, so it counts.
    const young = `--max-semi-space-size=${options.young}`
    const bare = await start('bare.ts', [...nodeOptions, young])
    const port = await app.ask<number>({ others: options.apps })
    const haproxy = tools.program('haproxy')
    const proxies = await progress.part('proxies', () =>
      startProxies({
        stateDir,
        port,
        haproxy,
        sockets: options.sockets,
        others: options.apps,
        bare,
        nodeArgs: [young],
      }),
    )
    const figures = await measure({ options, proxies, client, patient, app, progress, signal })
    return { bench: 'gateway', conditions, ...figures }
  } finally {
    await Promise.all(workers.map(worker => worker.stop()))
    await progress.part('take down', () => run.close())
  }
}

interface Scene {
  readonly options: Options
  readonly proxies: readonly Contender[]
  readonly client: Worker
  /** For requests at a rate. */
  readonly patient: Worker
  readonly app: Worker
  readonly progress: Progress
  readonly signal: AbortSignal
}

type Name = Contender['name']
type ByName<T, N extends string = Name> = Readonly<Record<N, T>>

/** The median of all turns. */
interface Figure extends Counted {
  /** Share of its processor that the proxy used. */
  readonly proxyBusy: number
  /** Processor time of the proxy for each request or frame, which other work on the machine changes least. */
  readonly proxyUs: number
  /** The client and the app had no more to give. */
  readonly clientBound?: true
}

async function measure(scene: Scene): Promise<object> {
  const { connections } = scene.options
  const get: GatewayQuestion = { do: 'requests', path: '/size/1024', connections }
  // Compilers work meanwhile. They have one processor with the proxy, and rates of a Node program grow for half a minute.
  await turns(withRounds(scene, scene.options.warm), 'warm up', get)
  const small = await turns(scene, '1 KB', get)
  const large = await turns(scene, '100 KB', { ...get, path: '/size/102400' })
  const ofApps = await turns({ ...scene, proxies: alsoOfApps(scene.proxies) }, `1 KB, ${scene.options.apps} apps`, get)
  // The same load for all: half of what the slower of the two Node programs can.
  const half = Math.floor(Math.min(small.gateway.perSecond, small.chp.perSecond) / 2)
  const atRate: GatewayQuestion = { ...get, perSecond: half }
  const patient = { ...scene, client: scene.patient }
  await turns(withRounds(patient, 1), 'warm up the other client', atRate)
  const atHalf = await turns(patient, 'half load', atRate)
  const echo = await turns(scene, 'WebSocket echo', { do: 'echo', connections })
  const down = await moves(scene, 'down')
  const up = await moves(scene, 'up')
  const idle = await idleKib(scene)
  return {
    requests_1kb: small,
    requests_100kb: large,
    requests_of_apps: ofApps,
    half_load: { per_second: half, ...atHalf },
    echo_1kb: echo,
    long_body: { down, up },
    kib_per_idle_websocket: idle,
    ratios: {
      rate_over_chp: ratio(small.gateway.perSecond, small.chp.perSecond),
      cost_of_chp: ratio(small.gateway.proxyUs, small.chp.proxyUs),
      cost_of_bare: ratio(small.gateway.proxyUs, small.bare.proxyUs),
      apps_cost_of_one: ratio(ofApps.apps.proxyUs, ofApps.gateway.proxyUs),
      bare_rate_over_chp: ratio(small.bare.perSecond, small.chp.perSecond),
      bare_cost_of_chp: ratio(small.bare.proxyUs, small.chp.proxyUs),
      rate_100kb_over_chp: ratio(large.gateway.perSecond, large.chp.perSecond),
      echo_over_chp: ratio(echo.gateway.perSecond, echo.chp.perSecond),
      p50_ms_over_haproxy: round(atHalf.gateway.p50Ms - atHalf.haproxy.p50Ms),
      p99_ms_over_haproxy: round(atHalf.gateway.p99Ms - atHalf.haproxy.p99Ms),
      bare_p99_ms_over_haproxy: round(atHalf.bare.p99Ms - atHalf.haproxy.p99Ms),
      download_of_haproxy: ratio(down.gateway.mbPerSecond, down.haproxy.mbPerSecond),
      upload_of_haproxy: ratio(up.gateway.mbPerSecond, up.haproxy.mbPerSecond),
      upload_of_chp: ratio(up.gateway.mbPerSecond, up.chp.mbPerSecond),
      upload_of_bare: ratio(up.gateway.mbPerSecond, up.bare.mbPerSecond),
    },
  }
}

const withRounds = (scene: Scene, rounds: number): Scene => ({ ...scene, options: { ...scene.options, rounds } })

const ratio = (a: number, b: number) => round(a / b, 2)

/** The gateway, with requests to one app and to many, in turns. */
function alsoOfApps(proxies: readonly Contender[]) {
  const one = proxies.find(({ name }) => name === 'gateway')!
  const { others = [] } = one
  return [
    { ...one, name: 'gateway' as const },
    { ...one, name: 'apps' as const, target: { ...one.target, others } },
  ]
}

type Turning<N extends string> = Omit<Scene, 'proxies'> & {
  readonly proxies: readonly (Omit<Contender, 'name'> & { readonly name: N })[]
}

/** One question to all, in turns. */
async function turns<N extends string>(
  scene: Turning<N>,
  words: string,
  question: GatewayQuestion,
): Promise<ByName<Figure, N>> {
  const { options, proxies, progress, signal } = scene
  const found = new Map<N, Figure[]>(proxies.map(({ name }) => [name, []]))
  await progress.part(words, async () => {
    for (let round = 0; round < options.rounds; round++) {
      for (const proxy of proxies) {
        signal.throwIfAborted()
        found.get(proxy.name)!.push(await turn(scene, proxy, question))
      }
    }
  })
  return Object.fromEntries([...found].map(([name, figures]) => [name, medianOf(figures)])) as Record<N, Figure>
}

const usedBy = (pid: number | undefined) => (pid === undefined ? 0 : cpuSeconds(pid))

async function turn(
  { options, client, app }: Omit<Scene, 'proxies'>,
  { target, pid }: Pick<Contender, 'target' | 'pid'>,
  question: GatewayQuestion,
) {
  const others = () => cpuSeconds(client.pid) + cpuSeconds(app.pid)
  const before = { others: others(), proxy: usedBy(pid), ms: systemClock.monotonicMs() }
  const counted = await client.ask<Counted>({ target, seconds: options.seconds, question })
  const seconds = (systemClock.monotonicMs() - before.ms) / 1000
  const isBound = (others() - before.others) / seconds >= boundShare
  const used = usedBy(pid) - before.proxy
  const proxyUs = round((used * 1e6) / (counted.perSecond * options.seconds), 1)
  return { ...counted, proxyBusy: round(used / seconds, 2), proxyUs, ...(isBound && { clientBound: true as const }) }
}

function medianOf(figures: readonly Figure[]): Figure {
  const at = (value: (figure: Figure) => number) => round(median(figures.map(value)), 2)
  return {
    perSecond: Math.round(at(({ perSecond }) => perSecond)),
    p50Ms: at(({ p50Ms }) => p50Ms),
    p99Ms: at(({ p99Ms }) => p99Ms),
    proxyBusy: at(({ proxyBusy }) => proxyBusy),
    proxyUs: at(({ proxyUs }) => proxyUs),
    ...(figures.some(({ clientBound }) => clientBound) && { clientBound: true as const }),
  }
}

/** One long body, the median of all turns. */
interface Moved {
  readonly mbPerSecond: number
  /** Processor time of the proxy for each MiB. */
  readonly proxyUs: number
}

async function moves(
  { options, proxies, client, progress, signal }: Scene,
  move: 'up' | 'down',
): Promise<ByName<Moved>> {
  const found = new Map<Name, Moved[]>(proxies.map(({ name }) => [name, []]))
  const bytes = options.megabytes * 2 ** 20
  await progress.part(`${options.megabytes} MiB ${move}`, async () => {
    for (let round = 0; round < options.rounds; round++) {
      for (const { name, target, pid } of proxies) {
        signal.throwIfAborted()
        const before = usedBy(pid)
        const mbPerSecond = await client.ask<number>({ target, move, bytes })
        found.get(name)!.push({ mbPerSecond, proxyUs: ((usedBy(pid) - before) * 1e6) / options.megabytes })
      }
    }
  })
  const at = (all: readonly Moved[], value: (moved: Moved) => number) => Math.round(median(all.map(value)))
  const figures = [...found].map(([name, all]) => [
    name,
    { mbPerSecond: at(all, ({ mbPerSecond }) => mbPerSecond), proxyUs: at(all, ({ proxyUs }) => proxyUs) },
  ])
  return Object.fromEntries(figures) as Record<Name, Moved>
}

/** What one open WebSocket adds to the memory of the proxy. */
async function idleKib({ options, proxies, client, progress, signal }: Scene): Promise<Partial<ByName<number>>> {
  const found: [Name, number][] = []
  for (const { name, target, pid } of proxies) {
    if (pid === undefined) continue
    signal.throwIfAborted()
    await progress.part(`${options.sockets} idle WebSockets: ${name}`, async () => {
      const before = memoryOf(pid).nowMib
      await client.ask({ target, keep: options.sockets })
      await systemClock.sleep(settleMs)
      found.push([name, round(((memoryOf(pid).nowMib - before) * 1024) / options.sockets, 1)])
      await client.ask({ target, keep: 0 })
      await systemClock.sleep(settleMs)
    })
  }
  return Object.fromEntries(found)
}
