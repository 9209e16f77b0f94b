/**
 * Measures a repository of many tags: the cost of reading it, and of serving it. docs/bench.md explains the result.
 *   npm run bench -- images [--tags 2000] [--refreshes 20] [--requests 300]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, type OutgoingHttpHeaders, request } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parse, stringify } from 'yaml'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import { type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import { systemClock } from '../../src/base/clock.ts'
import { numbersOf } from '../measure/options.ts'
import { percentile, round } from '../measure/statistics.ts'
import { peakMib } from '../measure/usage.ts'
import { Worker } from '../measure/worker.ts'
import type { BytesQuestion } from './bytes-route.ts'
import { dockerRepository, googleRepository, type Repository } from './repositories.ts'

interface Options {
  readonly tags: number
  readonly refreshes: number
  readonly requests: number
}

/** Interval while refreshes are timed; there are none while answers are. */
const refreshSeconds = 0.5
const prefix = '/nublado/spawner/v1'
const limitMs = 120_000

export async function imagesBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, { tags: 2000, refreshes: 20, requests: 300 })
  const choice = { realNode: 'never', kwok: 1 } as const
  const tools = await setupStack({ ...choice, audit: false }, progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const stack = await startStack({ ...{ ...choice, stateDir, tools, progress, signal }, replicas: 1, users: 3 })
    try {
      return await resultOf({ options, stack, stateDir, progress })
    } finally {
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

interface Scene {
  readonly options: Options
  readonly stack: Stack
  readonly stateDir: string
  readonly progress: Progress
}

async function resultOf(scene: Scene): Promise<object> {
  const { options, stack, stateDir } = scene
  const docker = await figures(scene, 'docker', () => dockerRepository(options.tags))
  const google = await figures(scene, 'google', () => googleRepository(options.tags, stateDir))
  const load = round(loadavg()[0]!, 1)
  return {
    bench: 'images',
    conditions: { ...options, cpus: availableParallelism(), node: process.version, load },
    other_peak_mib: peakMib(stack.replicas[0]!.pid),
    ...{ docker, google },
  }
}

async function figures(scene: Scene, kind: string, fill: () => Promise<Repository>): Promise<object> {
  const { options, progress } = scene
  const repository = await progress.part(`${options.tags} tags, ${kind}`, fill)
  try {
    const reading = await withReplica(scene, kind, repository, refreshSeconds, async replica => {
      return progress.part(`refreshes, ${kind}`, () => refreshes(replica, repository, options.refreshes))
    })
    const bare = await progress.part(`bare lists, ${kind}`, () => bareLists(repository, options))
    // Redis has the catalogue, so this replica never reads the registry.
    const telling = await withReplica(scene, kind, repository, 86_400, async replica => {
      return progress.part(`answers, ${kind}`, () => answers(scene, replica))
    })
    const { durationsMs, ...rest } = reading
    return {
      refresh_ms: spread(durationsMs),
      list_ms: spread(bare),
      refresh_ratio: round(percentile(durationsMs, 0.5) / percentile(bare, 0.5), 1),
      ...{ ...rest, ...telling },
    }
  } finally {
    await repository.close()
  }
}

const spread = (valuesMs: readonly number[]) => {
  const [p50, p99] = [0.5, 0.99].map(share => round(percentile(valuesMs, share), 1))
  return { p50, p99 }
}

/** A replica of an installation of its own, whose data stay in Redis for the next replica. */
async function withReplica<T>(
  { stack, stateDir }: Scene,
  kind: string,
  { images }: Repository,
  refreshIntervalSeconds: number,
  work: (replica: Replica) => Promise<T>,
): Promise<T> {
  const name = `images-${kind}-${refreshIntervalSeconds}`
  const config = parse(readFileSync(stack.configFile, 'utf8')) as ConfigInput
  const configFile = join(stateDir, `${name}.yaml`)
  const changed: ConfigInput = {
    ...config,
    installation: kind,
    images: { ...images, recommendedTag: 'recommended', refreshIntervalSeconds },
    // One user requests the form again and again.
    api: { ...config.api, rates: { readsPerSecond: 5000 } },
    lab: { ...config.lab, namespacePrefix: kind },
    // The program's user may only use keys with the stack's own prefix.
    redis: { ...config.redis, url: stack.redis.url, keyPrefix: kind },
  }
  writeFileSync(configFile, stringify(changed, { version: '1.1' }), { mode: 0o600 })
  const replica = await Replica.start({ name, program: stack.program, stateDir, configFile })
  try {
    await replica.ready()
    return await work(replica)
  } finally {
    await replica.stop()
  }
}

/** Durations of refreshes by the replica's metrics, with the requests and the peak memory of each. */
async function refreshes(replica: Replica, repository: Repository, wanted: number) {
  const durationsMs: number[] = []
  // The first refreshes pay for connections, and for code that is compiled once.
  let before = await past(replica, { count: 2, sum: 0 })
  const [from, asked] = [before.count, repository.requests()]
  while (durationsMs.length < wanted) {
    const now = await past(replica, before)
    // The metrics cannot separate two refreshes at once.
    if (now.count === before.count + 1) durationsMs.push((now.sum - before.sum) * 1000)
    before = now
  }
  const requests = (repository.requests() - asked) / (before.count - from)
  return { durationsMs, requests_per_refresh: round(requests, 1), peak_mib: peakMib(replica.pid) }
}

interface Counted {
  readonly count: number
  /** In seconds. */
  readonly sum: number
}

/** Waits for the next refresh. */
async function past({ monitoringUrl }: Replica, { count: before }: Counted): Promise<Counted> {
  const name = 'skylab_image_catalogue_refresh_duration_seconds'
  let counted: Counted = { count: 0, sum: 0 }
  const isPast = async () => {
    const metrics = await (await fetch(`${monitoringUrl}/metrics`)).text()
    const of = (what: string) =>
      Number(new RegExp(`^${name}_${what}\\{result="done"\\} (.+)$`, 'm').exec(metrics)?.[1] ?? 0)
    counted = { count: of('count'), sum: of('sum') }
    return counted.count > before
  }
  await waitUntil(isPast, { what: 'a refresh', limitMs })
  return counted
}

async function bareLists(repository: Repository, { tags, refreshes }: Options): Promise<number[]> {
  const durationsMs: number[] = []
  for (let n = -2; n < refreshes; n++) {
    const begunMs = systemClock.monotonicMs()
    const listed = await repository.list()
    if (listed !== tags) throw new Error(`${listed} tags were listed, not ${tags}`)
    if (n >= 0) durationsMs.push(systemClock.monotonicMs() - begunMs)
  }
  return durationsMs
}

/** Times the list of images and the form, in turns with a route that serves the same bytes. */
async function answers({ options, stack, stateDir }: Scene, replica: Replica): Promise<object> {
  const { admin, ada } = stack.users
  const agent = new Agent({ keepAlive: true })
  const route = new Worker({ file: new URL('bytes-route.ts', import.meta.url), stateDir, nodeArgs: [] })
  const asked = {
    images: { path: `${prefix}/images`, headers: { authorization: `Bearer ${admin!.token}` } },
    form: { path: `${prefix}/lab-form/ada`, headers: { authorization: `Bearer ${ada!.token}` } },
  }
  const ask = async (url: string, headers: OutgoingHttpHeaders) => (await timed(agent, url, headers)).ms
  const figures: Record<string, object> = {}
  try {
    const isPrepulled = async () => {
      const { body } = await timed(agent, replica.url + asked.images.path, asked.images.headers)
      return JSON.parse(body).recommended?.prepulled === true
    }
    await waitUntil(isPrepulled, { what: 'images on the node', limitMs })
    const bodies: Record<string, string> = {}
    for (const { path, headers } of Object.values(asked)) {
      bodies[path] = (await timed(agent, replica.url + path, headers)).body
    }
    const port = await route.ask<number>({ bodies } satisfies BytesQuestion)
    for (const [name, { path, headers }] of Object.entries(asked)) {
      const [ours, bare]: [number[], number[]] = [[], []]
      for (let n = -warmUp; n < options.requests; n++) {
        const pair = [await ask(replica.url + path, headers), await ask(`http://127.0.0.1:${port}${path}`, {})] as const
        if (n < 0) continue
        ours.push(pair[0])
        bare.push(pair[1])
      }
      const ratio = round(percentile(ours, 0.5) / percentile(bare, 0.5), 1)
      figures[name] = { bytes: Buffer.byteLength(bodies[path]!), ms: spread(ours), bare_ms: spread(bare), ratio }
    }
    return figures
  } finally {
    agent.destroy()
    await route.stop()
  }
}

/** Untimed requests, so that all code is compiled. */
const warmUp = 30

function timed(agent: Agent, url: string, headers: OutgoingHttpHeaders): Promise<{ body: string; ms: number }> {
  const begunMs = systemClock.monotonicMs()
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers }, answer => {
      text(answer).then(body => {
        if (answer.statusCode !== 200)
          reject(new Error(`${url} was answered ${answer.statusCode}: ${body.slice(0, 200)}`))
        resolve({ body, ms: systemClock.monotonicMs() - begunMs })
      }, reject)
    })
    outgoing.once('error', reject)
    outgoing.end()
  })
}
