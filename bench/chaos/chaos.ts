/**
 * Arvados' chaos in one process: a cloud in memory that fails, machines that are SSH servers and fail too, and a real Redis.
 * docs/bench.md explains the result.
 *   npm run bench -- chaos-in-process [--containers 200] [--scale 1] [--rounds 3]
 */
import { randomBytes } from 'node:crypto'
import { dispatchBlock, dispatchConfig, setupDispatch, writeDispatch } from '../../dev/dispatch/site.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { type Redis, startRedis } from '../../dev/redis/redis.ts'
import { openRun } from '../../dev/run/run.ts'
import { type ConfigInput, makeUsers } from '../../dev/stack/config.ts'
import type { RunSpec } from '../../src/dispatch/protocol.ts'
import { type DispatchReplica, makeDispatchReplica } from '../../src/run/dispatch/replica.ts'
import { startDispatchReplica } from '../../src/run/dispatch/serve.ts'
import { closeParts, stopParts } from '../../src/run/part.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { median, round, tally } from '../measure/statistics.ts'
import { StubCloud } from './cloud.ts'
import { troublesOf } from './troubles.ts'

const defaults = { containers: 200, scale: 1, rounds: 3 }
type Options = typeof defaults

const gib = 2 ** 30
const waitLimitMs = 300_000
const endedStates = new Set(['Complete', 'Cancelled'])

export async function chaosBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = numbersOf(args, defaults)
  const conditions = machine()
  await setupDispatch(progress, signal)
  const rounds: Round[] = []
  for (let number = 1; number <= options.rounds; number += 1)
    rounds.push(await progress.part(`round ${number}`, () => oneRound(options, progress, signal)))
  return {
    bench: 'chaos-in-process',
    ...conditions,
    options,
    // As others have measured it: `TestDispatchToStubDriver`, on a quiet machine.
    arvados_quoted_s: [2.0, 3.6],
    ended_s: round(median(rounds.map(each => each.ended_s)), 2),
    empty_s: round(median(rounds.map(each => each.empty_s)), 2),
    rounds,
  }
}

interface Round {
  readonly ended_s: number
  readonly empty_s: number
  /** Of this process, its machines among it. */
  readonly processor_s: number
  readonly states: Readonly<Record<string, number>>
  readonly cloud: Readonly<Record<string, number>>
}

async function oneRound(options: Options, progress: Progress, signal: AbortSignal): Promise<Round> {
  const run = await openRun(progress)
  const cloud = new StubCloud({
    ...{ failingCreates: 0.1, failingDestroys: 0.1, createEveryMs: options.scale, quota: 10, dry: 'type6' },
    troublesOf: troublesOf({ scale: options.scale, bootingMs: 150 * options.scale }),
  })
  try {
    const redis = await startRedis({ stateDir: run.stateDir, keyPrefix: 'chaos', signal })
    const replica = await replicaOn(run.stateDir, redis, cloud, options)
    try {
      await startDispatchReplica(replica, new Set(), signal)
      return await chaos(replica, cloud, options, signal)
    } finally {
      await stopParts(replica.stages)
      await closeParts(replica.stages)
    }
  } finally {
    await run.close()
  }
}

async function replicaOn(stateDir: string, redis: Redis, cloud: StubCloud, { scale }: Options) {
  const block = dispatchBlock(stateDir, timesOf(scale))!
  const config = dispatchConfig(
    { url: redis.programUrl, keyPrefix: 'chaos' },
    {
      ...block,
      InstanceTypes: Object.fromEntries([1, 2, 3, 4, 6, 8, 16].map(size => [`type${size}`, typeOf(size)])),
      Containers: { ...block.Containers, ReserveExtraRAM: '0' },
    },
  )
  const engine = { leaseTtlMs: 10_000, scanIntervalMs: 50 * scale }
  const { configFile } = await writeDispatch(stateDir, { ...config, logLevel: 'error', engine }, makeUsers(1))
  return makeDispatchReplica(await loadSettings(configFile, {}), undefined, async () => cloud)
}

const typeOf = (size: number) => ({ VCPUs: size, RAM: Math.round(size * gib * 1.1), Price: size * 0.123 })

/** Theirs, in milliseconds. */
function timesOf(scale: number): Partial<NonNullable<ConfigInput['dispatch']>['CloudVMs']> {
  const ms = (their: number) => `${their * scale}ms`
  return {
    ...{ SyncInterval: ms(10), TimeoutIdle: ms(150), TimeoutBooting: ms(150), TimeoutProbe: ms(15) },
    ...{ TimeoutShutdown: ms(5), PollInterval: ms(5), ProbeInterval: ms(5) },
    ...{ TimeoutSignal: ms(3), TimeoutTERM: ms(20), MaxCloudOpsPerSecond: Math.ceil(500 / scale) },
    ...{ InitialQuotaEstimate: 8, MaxInstances: 0, MaxConcurrentInstanceCreateOps: 0, DeployRunnerBinary: '' },
  }
}

async function chaos(replica: DispatchReplica, cloud: StubCloud, options: Options, signal: AbortSignal) {
  const { containers, machines } = replica.store
  const before = process.cpuUsage()
  const begunMs = performance.now()
  const seconds = () => round((performance.now() - begunMs) / 1000, 2)
  const uuids = await Promise.all(Array.from({ length: options.containers }, (_, i) => submit(replica, i)))
  const until = (what: string, check: () => Promise<boolean>) =>
    waitUntil(check, { what, limitMs: waitLimitMs, signal })
  const states = new Map<string, string>()
  await until('the ends of all containers', async () => {
    for (const uuid of uuids) {
      if (endedStates.has(states.get(uuid) ?? '')) continue
      states.set(uuid, (await containers.find(uuid))?.state ?? 'none')
    }
    return [...states.values()].every(state => endedStates.has(state))
  })
  const endedS = seconds()
  await until('an empty cloud', async () => cloud.live === 0 && (await machines.list()).length === 0)
  const { user, system } = process.cpuUsage(before)
  return {
    ...{ ended_s: endedS, empty_s: seconds(), processor_s: round((user + system) / 1e6, 2) },
    ...{ states: tally(states.values()), cloud: cloud.counts },
  }
}

async function submit({ store: { containers, sealer } }: DispatchReplica, i: number): Promise<string> {
  const [vcpus, ramBytes] = [(i % 8) + 1, ((i % 3) + 1) * gib]
  const command = ['true']
  const spec: RunSpec = {
    ...{ command, image: 'a', environment: {}, cwd: '/', mounts: {} },
    vcpus,
    ramBytes,
    maxRunSeconds: 0,
  }
  const accepted = await containers.accept({
    nonce: randomBytes(8).toString('hex'),
    view: {
      ...{
        owner: 'ada',
        command,
        container_image: 'a',
        environment: {},
        cwd: '/',
        mounts: {},
        container_count_max: 10,
      },
      runtime_constraints: { vcpus, ram: ramBytes, gpus: 0 },
      scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: 0 },
    },
    shape: {
      need: { vcpus, ramBytes, scratchBytes: 0, gpus: 0, preemptible: false },
      ...{ tenant: 'default', supervisor: false },
    },
    priority: (i % 20) + 1,
    sealSpec: (keyId, name, nonce) => sealer.seal(JSON.stringify(spec), name, nonce, keyId),
  })
  if (!('uuid' in accepted)) throw new Error(`not accepted: ${JSON.stringify(accepted)}`)
  return accepted.uuid
}
