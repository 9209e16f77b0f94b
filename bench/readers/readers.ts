/**
 * Readers that take no events, beside readers that do, at one replica: the cost of the stuck ones, and their effect on the
 * others. docs/bench.md explains the result.
 *   npm run bench -- readers [--good 1000] [--stuck 200] [--seconds 20]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { waitUntil } from '../../dev/process/api-client.ts'
import { marker } from '../../dev/process/process.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { setup } from '../../dev/setup/setup.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { type Stack, setupStack, startStack } from '../../dev/stack/stack.ts'
import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { Keys } from '../../src/store/keys.ts'
import { encodeEvents, encodeFields } from '../../src/store/records.ts'
import { callCommand, defineCommands } from '../../src/store/scripts.ts'
import { longestCallMs, metricsOf } from '../measure/metrics.ts'
import { numbersOf } from '../measure/options.ts'
import { percentile, round } from '../measure/statistics.ts'
import { cpuSeconds, memoryOf } from '../measure/usage.ts'
import { Worker } from '../measure/worker.ts'
import { type ReadersQuestion, type Seen, type Streams, stamp } from './client.ts'

interface Options {
  readonly good: number
  readonly stuck: number
  readonly seconds: number
}

/** The maximum of a user. */
const { maxStreamsPerUser: perUser } = configSchema.parse({}).api.limits
/** Long enough to watch stuck readers before they are cut. */
const writeTimeoutSeconds = 60
/** More than the kernel buffers for a connection with minimal buffers, so that an idle reader blocks the replica's writes. */
const fillBytes = 2 * 2 ** 20
const fillEventBytes = 1024
const fillAtOnce = 128
const sampleMs = 250
const stuckProgram = fileURLToPath(new URL('stuck.py', import.meta.url))

export async function readersBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, { good: 1000, stuck: 200, seconds: 20 })
  const choice = { realNode: 'never', kwok: 1 } as const
  const tools = await setupStack({ ...choice, audit: false }, progress, signal)
  const python = (await setup(['python'], progress, signal)).program('python3')
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const users = 1 + Math.ceil(options.good / perUser) + Math.ceil(options.stuck / perUser)
    const stack = await startStack({
      ...{ ...choice, stateDir, tools, progress, signal, replicas: 1, users },
      // Their creations wait for a node, and their streams stay open.
      overrides: {
        lab: { nodeSelector: { 'skylab/no-such-node': 'true' } },
        api: { limits: { writeTimeoutSeconds, stallTimeoutSeconds: 2 * writeTimeoutSeconds } },
      },
    })
    const worker = new Worker({ file: new URL('client.ts', import.meta.url), stateDir, nodeArgs: [] })
    const stuck = spawn(python, [stuckProgram], {
      stdio: ['pipe', 'pipe', 2],
      env: { ...process.env, [marker]: stateDir },
    })
    try {
      return await figures({ options, stack, worker, stuck, progress })
    } finally {
      stuck.kill()
      await worker.stop()
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

interface Scene {
  readonly options: Options
  readonly stack: Stack
  readonly worker: Worker
  readonly stuck: ChildProcess
  readonly progress: Progress
}

async function figures({ options, stack, worker, stuck: stuckReaders, progress }: Scene): Promise<object> {
  const { good, stuck } = streamsOf(stack, options)
  const replica = stack.replicas[0]!
  const { port } = replica
  const writer = new Writer(stack)
  const ask = (question: ReadersQuestion) => worker.ask<Seen>(question)
  const watch = (seconds: number, meanwhile: () => Promise<unknown> = async () => {}) =>
    watched({ replica, seconds, writer, names: good.map(({ name }) => name), ask, meanwhile })
  try {
    await progress.part('labs that wait for a node', () => writer.create([...good, ...stuck]))
    const idleMib = rssMib(replica.pid)
    await progress.part('good readers', () => ask({ do: 'open', port, streams: good }))
    await watch(options.seconds / 4)
    const alone = await progress.part('good readers alone', () => watch(options.seconds))
    await progress.part('long streams', () => writer.fill(stuck.map(({ name }) => name)))
    const stick = async () => {
      stuckReaders.stdin!.write(`${JSON.stringify({ port, streams: stuck })}\n`)
      await once(stuckReaders.stdout!, 'data')
    }
    const arriving = await progress.part('stuck readers arrive', () => watch(options.seconds, stick))
    const beside = await progress.part('stuck readers beside them', () => watch(options.seconds))
    const cut = await progress.part('they are cut', () => allCut(replica, options.stuck))
    const after = await progress.part('after they were cut', () => watch(options.seconds))
    return {
      bench: 'readers',
      conditions: {
        ...options,
        write_timeout_s: writeTimeoutSeconds,
        events_per_s: good.length,
        cpus: availableParallelism(),
        node: process.version,
      },
      idle_mib: idleMib,
      ...{ alone, arriving, beside, after },
      cut,
    }
  } finally {
    writer.close()
  }
}

function streamsOf({ users }: Stack, options: Options): { good: Streams[]; stuck: Streams[] } {
  const people = Object.entries(users).filter(([name]) => name !== 'admin')
  const take = (total: number): Streams[] =>
    people.splice(0, Math.ceil(total / perUser)).map(([name, { token }], index) => {
      return { name, token, count: Math.min(perUser, total - index * perUser) }
    })
  return { good: take(options.good), stuck: take(options.stuck) }
}

/** Writes events in place of the owner: the replica that makes these labs only waits, and has no events. */
class Writer {
  readonly #stack: Stack
  readonly #redis: Redis
  readonly #keys = new Keys(configSchema.parse({}).redis.keyPrefix)

  constructor(stack: Stack) {
    this.#stack = stack
    this.#redis = new Redis(stack.redis.url)
    defineCommands(this.#redis)
  }

  /** Requests the labs; resolves when all wait for their nodes, and no more events come. */
  async create(streams: readonly Streams[]): Promise<void> {
    const body = JSON.stringify({ options: { image_type: 'recommended' } })
    for (const { name, token } of streams) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const url = `${this.#stack.url}/nublado/spawner/v1/labs/${name}/create`
      const isAccepted = async () => {
        const { status } = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' })
        // The balancer has not yet seen that the replica is ready.
        if (status !== 303 && status !== 503) throw new Error(`the lab of ${name} was answered ${status}`)
        return status === 303
      }
      await waitUntil(isAccepted, { what: `the lab of ${name}`, limitMs: 10_000 })
    }
    const lastEvents = async () =>
      Promise.all(streams.map(({ name }) => this.#redis.hget(this.#keys.record(name), 'seq')))
    let before = ''
    const isQuiet = async () => {
      const now = (await lastEvents()).join()
      const same = now === before
      before = now
      if (!same) await systemClock.sleep(2000)
      return same
    }
    await waitUntil(isQuiet, { what: 'labs that wait', limitMs: 120_000 })
  }

  /** Writes events for a user's readers. */
  async write(user: string, ...data: string[]): Promise<void> {
    const { op, token, seq } = await this.#redis.hgetall(this.#keys.record(user))
    const keys = [this.#keys.record(user), this.#keys.events(user), this.#keys.bell]
    const events = encodeEvents(data.map(text => ['info', text] as const))
    const args = [this.#keys.kind, user, op!, token!, seq!, events, encodeFields({}, {})]
    await callCommand(this.#redis, 'commit-step', keys, args)
  }

  /** Writes much more for each stream than an unread connection takes. */
  async fill(users: readonly string[]): Promise<void> {
    const data = Array.from({ length: fillAtOnce }, () => 'x'.repeat(fillEventBytes))
    for (let bytes = 0; bytes < fillBytes; bytes += fillAtOnce * fillEventBytes) {
      await Promise.all(users.map(user => this.write(user, ...data)))
    }
  }

  close(): void {
    this.#redis.disconnect()
  }
}

interface Watching {
  readonly replica: Replica
  readonly seconds: number
  readonly writer: Writer
  readonly names: readonly string[]
  readonly ask: (question: ReadersQuestion) => Promise<Seen>
  readonly meanwhile: () => Promise<unknown>
}

/** Writes an event for each user once a second, evenly spread, and returns the delays of their readers. */
async function watched({ replica, seconds, writer, names, ask, meanwhile }: Watching): Promise<object> {
  const { pid } = replica
  await ask({ do: 'report' })
  const metricsBefore = await metricsOf(replica)
  const begunMs = systemClock.monotonicMs()
  const cpuBefore = cpuSeconds(pid)
  const beside = meanwhile()
  let peakMib = 0
  let sampledMs = 0
  for (let n = 0; n < seconds * names.length; n++) {
    const dueMs = (1000 * n) / names.length
    const nowMs = systemClock.monotonicMs() - begunMs
    if (dueMs > nowMs) await systemClock.sleep(dueMs - nowMs)
    await writer.write(names[n % names.length]!, stamp())
    if (dueMs < sampledMs) continue
    sampledMs = dueMs + sampleMs
    peakMib = Math.max(peakMib, rssMib(pid))
  }
  await beside
  // Gives the last events time to arrive.
  await systemClock.sleep(1000)
  const { delaysMs, ended } = await ask({ do: 'report' })
  const at = (share: number) => round(percentile(delaysMs, share), 1)
  return {
    deliveries: delaysMs.length,
    cpu_us_per_delivery: Math.round(((cpuSeconds(pid) - cpuBefore) * 1e6) / delaysMs.length),
    delay_ms: { p50: at(0.5), p99: at(0.99), max: at(1) },
    lease_ms: longestCallMs(metricsBefore, await metricsOf(replica), 'extend-leases'),
    streams_ended: ended,
    peak_mib: Math.max(peakMib, rssMib(pid)),
  }
}

const rssMib = (pid: number): number => Math.round(memoryOf(pid).nowMib)

/** The replica's count of cut readers, once all are cut or the count stops growing. */
async function allCut(replica: Replica, wanted: number): Promise<number> {
  let cut = 0
  const isDone = async () => {
    cut = (await metricsOf(replica)).get('skylab_event_streams_cut_total') ?? 0
    return cut >= wanted
  }
  await waitUntil(isDone, { what: 'stuck readers', limitMs: 2000 * writeTimeoutSeconds }).catch(() => {})
  return cut
}
