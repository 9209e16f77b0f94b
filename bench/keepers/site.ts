/** Replicas and Redis of the bench, and machines that cost no cloud: most are played, some are processes of this computer. */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { DispatchClient } from '../../dev/dispatch/client.ts'
import { cloudOf, dispatchBlock, dispatchConfig, setupDispatch, writeDispatch } from '../../dev/dispatch/site.ts'
import { bundle } from '../../dev/image/bundle.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { startRedis } from '../../dev/redis/redis.ts'
import { openRun } from '../../dev/run/run.ts'
import { makeUsers } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import { createLoopbackDriver } from '../../src/clouds/loopback/driver.ts'
import { files, type Machines } from '../../src/clouds/loopback/folder.ts'
import { identityOf } from '../../src/clouds/loopback/processes.ts'
import { instanceSetIdOf, tagNames } from '../../src/dispatch/tags.ts'
import { initCommand } from '../../src/machines/init-command.ts'
import { parsePrivateKey } from '../../src/ssh/key.ts'
import { runnerProgram } from '../../src/ssh/program.ts'
import { metricsOf } from '../measure/metrics.ts'
import { profilerArgs } from '../measure/profiled.ts'
import { Worker } from '../measure/worker.ts'
import type { Listening, Question } from './machines.ts'
import { nowMs } from './now.ts'

const keyPrefix = 'skylab-keepers'
const waitLimitMs = 300_000
const names = tagNames('Arvados')

/** Of `machineTypes`: a container of four processors fits on the dear type alone. */
const [played, real] = ['small', 'large'] as const

export interface SiteOptions {
  readonly progress: Progress
  readonly signal: AbortSignal
  /** For CPU profiles of replicas. */
  readonly profile: string | undefined
}

export class Site {
  readonly redis: Client
  readonly replicas: Replica[] = []
  readonly client: DispatchClient
  /** Plays machines. */
  readonly worker: Worker
  readonly #parts: Parts
  readonly #options: SiteOptions
  readonly #real: string[] = []
  #drawn = 0

  private constructor(parts: Parts, options: SiteOptions) {
    this.#parts = parts
    this.#options = options
    const { stateDir, redis, users, managementToken, cloud } = parts
    this.redis = new Client(redis.url)
    const tokenFiles = { users: '', management: '' }
    const site = { stateDir, redis, replicas: this.replicas, users, managementToken, tokenFiles, cloud }
    this.client = new DispatchClient(site, options.signal)
    this.worker = new Worker({ file: new URL('./machines.ts', import.meta.url), stateDir, nodeArgs: [] })
  }

  /** Starts Redis, for this work alone, and takes everything down afterwards. */
  static async with<T>(options: SiteOptions, work: (site: Site) => Promise<T>): Promise<T> {
    await setupDispatch(options.progress, options.signal)
    const run = await openRun(options.progress)
    let site: Site | undefined
    try {
      site = new Site(await partsIn(run.stateDir, options), options)
      return await work(site)
    } finally {
      await site?.stop()
      await run.close()
    }
  }

  /** Resolves when it is ready. */
  async startReplica(): Promise<Replica> {
    const { stateDir, program, configFile } = this.#parts
    const nodeArgs = profilerArgs(this.#options.profile)
    const name = `replica-${this.replicas.length + 1}`
    const replica = await Replica.start({ stateDir, configFile, program, name, nodeArgs, restart: false })
    this.replicas.push(replica)
    await replica.ready(this.#options.signal)
    return replica
  }

  /** Makes machines that are played, as if they had been kept before: nobody has a record of them. */
  async addPlayed(count: number): Promise<void> {
    const { cloud, program: _, runner, publicKey } = this.#parts
    const machines = Array.from({ length: count }, () => ({ secret: randomBytes(20).toString('hex'), program: runner }))
    const question: Question = { ask: 'listen', authorizedKey: publicKey, machines }
    const listening = await this.worker.ask<Listening[]>(question)
    for (const [index, { address, hostKey }] of listening.entries()) {
      const intent = this.#intent(played, machines[index]!.secret, { [names.hostKey]: hostKey })
      const id = cloud.idOf('', intent.token)
      await cloud.make(id, intent)
      writeFileSync(cloud.pathOf(id, files.address), address)
      // From now on it is running.
      writeFileSync(cloud.pathOf(id, files.process), identityOf(this.worker.pid)!)
    }
  }

  /** Makes machines with a real runner. Resolves when they listen. */
  async addReal(count: number): Promise<void> {
    const { cloud, program } = this.#parts
    const driver = createLoopbackDriver({
      ...{ directory: cloud.folder, launch: [process.execPath, program, 'loopback-machine'] },
      sets: { tag: names.instanceSetId, values: [this.#set] },
    })
    const call = { signal: this.#options.signal, agent: 'bench' }
    for (let i = 0; i < count; i += 1) {
      const made = await driver.create(this.#intent(real, randomBytes(20).toString('hex')), [], call)
      this.#real.push(made.id)
    }
    const listens = async (id: string) => (await cloud.read(id))?.state === 'running'
    await this.until('real machines', async () => (await Promise.all(this.#real.map(listens))).every(Boolean))
  }

  /** When each machine has obeyed its first keeper after that time, as far as it has. */
  async hellos(sinceMs: number): Promise<{ readonly played: readonly number[]; readonly real: readonly number[] }> {
    const question: Question = { ask: 'hellos', sinceMs }
    // A hello is written to this file, and nothing else is while nothing runs there.
    const written = (id: string) =>
      statSync(join(this.#parts.cloud.pathOf(id), 'lib/machine'), { throwIfNoEntry: false })?.mtimeMs ?? 0
    const ofReal = this.#real.map(written).filter(at => at > sinceMs)
    return { played: await this.worker.ask<number[]>(question), real: ofReal }
  }

  /** When a played machine was to start it. */
  start(uuid: string): Promise<number> {
    return this.worker.ask<number>({ ask: 'start', uuid } satisfies Question)
  }

  until(what: string, check: () => Promise<boolean>): Promise<void> {
    return waitUntil(check, { what, limitMs: waitLimitMs, signal: this.#options.signal })
  }

  /** Resolves when a replica keeps so many machines, and all of them have obeyed it. */
  async kept(replica: Replica, count: number, sinceMs = 0): Promise<void> {
    await this.until(`keepers of ${count} machines`, async () => {
      const { played: some, real: others } = await this.hellos(sinceMs)
      return some.length + others.length >= count && (await ownedBy(replica)) === count
    })
  }

  async stop(): Promise<void> {
    this.redis.disconnect()
    await Promise.all(this.replicas.map(replica => replica.stop(0)))
    // Those that are played end with their process.
    for (const id of this.#real) await this.#parts.cloud.end(id)
    await this.worker.stop()
  }

  get #set(): string {
    return instanceSetIdOf(readFileSync(join(this.#parts.stateDir, 'dispatch.token'), 'utf8'))
  }

  #intent(type: string, secret: string, tags: Readonly<Record<string, string>> = {}) {
    this.#drawn += 1
    const token = this.#drawn.toString(36)
    const { publicKey } = this.#parts
    const own = { [names.instanceSetId]: this.#set, [names.instanceType]: type, [names.idleBehavior]: 'run' }
    return {
      ...{ token, providerType: type, image: '', publicKey, initCommand: initCommand(secret, '') },
      ...{ addedScratchBytes: 0, preemptible: false },
      tags: { ...own, [names.instanceSecret]: secret, [names.intent]: token, ...tags },
    }
  }
}

type Parts = Awaited<ReturnType<typeof partsIn>>

async function partsIn(stateDir: string, { progress, signal, profile }: SiteOptions) {
  const [redis, program] = await Promise.all([
    progress.part('Redis', () => startRedis({ stateDir, keyPrefix, signal })),
    progress.part('program', () => bundle({ dir: join(stateDir, 'program'), maps: profile !== undefined })),
  ])
  const deploy = join(stateDir, 'skylab')
  // In place of Node itself, whose hash every machine of this computer would make anew.
  const script = `#!/bin/sh\nexec ${process.execPath} ${join(stateDir, 'program/dist/runner.cjs')} "$@"\n`
  writeFileSync(deploy, script, { mode: 0o755 })
  const cloud: Machines = cloudOf(stateDir)
  const users = makeUsers(1)
  const config = dispatchConfig(
    { url: redis.programUrl, keyPrefix },
    dispatchBlock(cloud.folder, { ...ofTheCloud, DeployRunnerBinary: deploy }),
  )
  const { managementToken, configFile } = await writeDispatch(stateDir, config, users)
  const { publicKey } = parsePrivateKey(readFileSync(join(stateDir, 'dispatch.key'), 'utf8'), 'the key')
  const { name, sha256 } = (await runnerProgram({ deploy })).files[0]!
  return { stateDir, redis, program, cloud, users, managementToken, configFile, publicKey, runner: { name, sha256 } }
}

/** Beside the defaults: no machine is to be made or ended, and adoption waits for no turn. */
const ofTheCloud = { MaxInstances: 0, TimeoutIdle: '24h', MaxCloudOpsPerSecond: 0 }

export async function ownedBy(replica: Replica): Promise<number> {
  const metrics = await metricsOf(replica)
  const [, owned = 0] = [...metrics].find(([name]) => name.startsWith('skylab_dispatch_owned')) ?? []
  return owned
}

/** Kills a replica for good. @returns when, by the clock of `nowMs` */
export async function killed(replica: Replica): Promise<number> {
  const at = nowMs()
  await replica.stop(0)
  return at
}
