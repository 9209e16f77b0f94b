/** A fleet: several real replicas with a Redis, an installation and users of their own, on the tests' one cluster. */
import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, type RunnerTestSuite, type TestContext } from 'vitest'
import { startBeside } from '../../../dev/dispatch/beside.ts'
import { waitUntil } from '../../../dev/process/api-client.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { type Balancer, type ReplicaPorts, startBalancer } from '../../../dev/stack/haproxy.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { labNames } from '../../../src/labs/names.ts'
import { conformanceOf } from '../api/scripted-api.ts'
import { grantInstallation, revokeInstallation } from '../cluster/installation.ts'
import { World } from '../cluster/world.ts'
import { AuditLog } from '../evidence/audit.ts'
import type { Expectations, Terms } from '../evidence/evidence.ts'
import { type Gauges, measure, type ProcessState, stateOf } from '../evidence/gauges.ts'
import { Recorder } from '../evidence/recorder.ts'
import { type Effect, folderVariable } from '../failpoints/arms.ts'
import type { ArmOptions, FailpointArms } from '../failpoints/failpoint-arms.ts'
import type { Proxies } from '../network/proxies.ts'
import type { TestProgram } from '../program/program.ts'
import { testBed } from '../testbed.ts'
import { testTls } from '../tls/tls.ts'
import { Client } from './client.ts'
import {
  commandOf,
  configFile,
  type FleetOptions,
  type FleetParts,
  hasDispatchBeside,
  isByTls,
  prepare,
  redisTrust,
  runsOther,
  termsOf,
} from './fleet-parts.ts'
import type { UserRecord } from './users.ts'

export type { FleetOptions } from './fleet-parts.ts'

/** Above the need of a busy machine. */
const startLimitMs = 90_000
const stopLimitMs = 60_000
/** Limit for a replica's answer about an end; a missing answer is unknown. */
const readBackMs = 5000

export class Fleet {
  readonly name: string
  readonly stateDir: string
  readonly installation: string
  readonly namespacePrefix: string
  /** The current Redis: after a failover, the second one. */
  redis: Redis
  /** `redis.keyPrefix` of the configuration. */
  readonly keyPrefix: string
  readonly failpoints: FailpointArms
  /** Has all rights of an administrator of labs. */
  readonly admin: Client
  readonly world: World
  readonly audit: AuditLog
  readonly recorder: Recorder
  readonly terms: Terms
  /** The test's declarations for the judge. */
  readonly expectations: Expectations = {}
  /** Resources of each replica when the fleet had started, with its process id. */
  readonly baseline = new Map<number, { readonly pid: number; readonly gauges: Gauges }>()
  readonly #options: FleetOptions
  readonly #program: TestProgram
  readonly #config: ConfigInput
  readonly #tokens: ReadonlyMap<string, UserRecord>
  readonly #fresh: string[]
  readonly #ports: readonly ReplicaPorts[]
  readonly #proxies: readonly Proxies[]
  readonly #replicas: (Replica | undefined)[] = []
  /** The process for containers, where the run wants one beside. */
  #dispatch: Replica | undefined
  #readBacks: number
  #balancer: Promise<Balancer> | undefined
  #turn = 0

  private constructor(parts: FleetParts) {
    const { name, stateDir, redis, options, ports, users, config } = parts
    this.name = name
    this.stateDir = stateDir
    this.redis = redis
    this.installation = config.installation!
    this.namespacePrefix = config.lab!.namespacePrefix!
    this.keyPrefix = config.redis!.keyPrefix!
    this.failpoints = parts.failpoints
    this.#options = options
    this.#program = parts.program
    this.#config = config
    this.#tokens = new Map(users.map(user => [user.username, user]))
    this.#fresh = users.filter(({ username }) => /^u\d+$/.test(username)).map(({ username }) => username)
    this.#ports = ports
    this.#proxies = parts.proxies
    this.recorder = new Recorder(join(stateDir, 'log'))
    this.recorder.onComplete = (user, op) => this.#readBack(user, op)
    this.#readBacks = options.readBack ?? 0
    this.terms = { ...termsOf(config), kinds: options.kinds ?? [] }
    this.admin = this.as('admin')
    this.world = new World(this)
    this.audit = new AuditLog(testBed().auditLog)
  }

  static async start(options: FleetOptions = {}): Promise<Fleet> {
    const parts = await prepare(options)
    const fleet = new Fleet(parts)
    const { account } = options
    await (account ? account.grant(parts.config) : grantInstallation(fleet.world.kube, parts.config, parts.name))
    for (const { point, effect, ...more } of options.failpoints ?? []) fleet.failpoints.arm(point, effect, more)
    try {
      await Promise.all(fleet.#ports.map((_, index) => fleet.start(index, { ready: false })))
      if (hasDispatchBeside) await fleet.#startDispatch()
      if (options.ready !== false) await fleet.ready()
      if (options.readBack !== undefined) await fleet.#measureBaseline()
      return fleet
    } catch (error) {
      await fleet.stop({ keepLogs: true })
      throw error
    }
  }

  /** Whether labs have everything that can be configured. */
  get hasFullLabs(): boolean {
    return this.#options.fullLab !== undefined
  }

  get size(): number {
    return this.#ports.length
  }

  /** Address of one replica, whether it runs or not. */
  url(index: number): string {
    return `${isByTls(this.#options) ? 'https' : 'http'}://127.0.0.1:${this.#ports[index]?.port}`
  }

  /** Addresses of all replicas. */
  get urls(): string[] {
    return this.#ports.map((_, index) => this.url(index))
  }

  /** Address of a replica's `/readyz` and `/metrics`. */
  monitoringUrl(index: number): string {
    return `http://127.0.0.1:${this.#ports[index]?.monitoringPort}`
  }

  /** The same for all replicas. */
  get monitoringUrls(): string[] {
    return this.#ports.map((_, index) => this.monitoringUrl(index))
  }

  /** The same for a running replica, another one each time. */
  anyUrl(): string {
    for (let tries = 0; tries < this.size; tries++) {
      this.#turn = (this.#turn + 1) % this.size
      if (this.#replicas[this.#turn]) return this.url(this.#turn)
    }
    return this.url(0)
  }

  /** Address of a balancer as in production; started at the first use. */
  async balancerUrl(): Promise<string> {
    this.#balancer ??= startBalancer({
      stateDir: this.stateDir,
      program: testBed().haproxy,
      replicas: this.#ports,
      caFile: isByTls(this.#options) ? testTls().authority.caFile : undefined,
    })
    return (await this.#balancer).url
  }

  replica(index: number): Replica {
    const replica = this.#replicas[index]
    if (!replica) throw new Error(`replica ${index} does not run`)
    return replica
  }

  /** The proxies between a replica and its servers, in fleets with `proxies`. */
  proxies(index: number): Proxies {
    const proxies = this.#proxies[index]
    if (!proxies) throw new Error('the fleet was started without proxies')
    return proxies
  }

  /** The index of the replica with this name, which marks of blows and logs contain. */
  indexOf(name: string): number {
    return Number(/\d+$/.exec(name)?.[0]) - 1
  }

  /** A fresh user. Requests go round the running replicas. */
  user(): Client {
    const name = this.#fresh.shift()
    if (name === undefined) throw new Error('the fleet has no more users: start it with more')
    return this.as(name)
  }

  /** One of `people`, or `admin`. */
  as(username: string): Client {
    const token = this.#tokens.get(username)?.token
    if (token === undefined) throw new Error(`nobody is called ${username} here`)
    const record = { recorder: this.recorder, conformance: conformanceOf() }
    return new Client(() => this.anyUrl(), username, token, record, this.#options.credentials)
  }

  /** Declares to the judge what is different here, for the whole of this fleet. */
  expects(expectations: Expectations): void {
    Object.assign(this.expectations, expectations)
  }

  /** Indices of running replicas that are not stopped. */
  working(): number[] {
    return this.#inState('working')
  }

  /** Indices of replicas that were stopped, and not continued. */
  stopped(): number[] {
    return this.#inState('stopped')
  }

  #inState(state: ProcessState): number[] {
    return this.#ports.map((_, i) => i).filter(i => this.#replicas[i] && stateOf(this.#replicas[i].pid) === state)
  }

  /** The resources of a replica now. */
  measure(index: number): Promise<Gauges> {
    const { pid, port, monitoringPort } = this.replica(index)
    const redisPort = this.#proxies[index]?.redis.port ?? this.redis.port
    return measure({ pid, ports: [port, monitoringPort], redisPort, folder: this.failpoints.folder })
  }

  /** Only the failpoints of this build tell the size of the heap. */
  async #measureBaseline(): Promise<void> {
    const ours = this.working().filter(index => !runsOther(this.#options, index))
    await Promise.all(
      ours.map(async index => {
        this.baseline.set(index, { pid: this.replica(index).pid, gauges: await this.measure(index) })
      }),
    )
  }

  /** Asks every replica at once about an operation that was just seen to complete. */
  async #readBack(user: string, op: number): Promise<void> {
    if (this.#readBacks <= 0) return
    this.#readBacks -= 1
    const signal = AbortSignal.timeout(readBackMs)
    const questions = this.working().flatMap(index => {
      const judge = this.as('judge').at(this.url(index)).after(op)
      return [`labs/${encodeURIComponent(user)}`, 'labs'].map(path => judge.request(path, { signal }))
    })
    await Promise.allSettled(questions)
  }

  /** A user's namespace. */
  namespace(username: string): string {
    return labNames(this.namespacePrefix, username).namespace
  }

  arm(point: string, effect: Effect, options: ArmOptions = {}) {
    return this.failpoints.arm(point, effect, options)
  }

  /** Sends a signal to a replica. If the signal ends it, the replica leaves the round, and this resolves at its end. */
  async kill(index: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const replica = this.replica(index)
    const ends = signal === 'SIGKILL' || signal === 'SIGTERM'
    if (ends && !this.#options.restart) this.#replicas[index] = undefined
    const ended = replica.ended
    this.recorder.struck(signal, replica.name, replica.pid)
    replica.kill(signal)
    if (ends) await ended
  }

  /** Starts a replica, the first time or after its end. It keeps its name and its port. */
  async start(index: number, { ready = true }: { readonly ready?: boolean } = {}): Promise<Replica> {
    const { env, restart = false } = this.#options
    const command = commandOf(this.#program, this.#options, index)
    const replica = await Replica.start({
      name: `replica-${index + 1}`,
      ...this.#ports[index],
      stateDir: this.stateDir,
      configFile: configFile(this.stateDir, index),
      ...command,
      env: { ...command.env, ...env, [folderVariable]: this.failpoints.folder },
      restart,
    })
    this.#replicas[index] = replica
    this.recorder.struck('start', replica.name, replica.pid)
    void replica.ended.then(() => {
      if (!restart && this.#replicas[index] === replica) this.#replicas[index] = undefined
    })
    if (ready) await replica.ready()
    return replica
  }

  /** Waits until all running replicas are ready and Redis' data were compared: before that, requests get a 503. */
  async ready(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica?.ready()))
    const isCompared = async () => (await this.admin.labs()).status === 200
    await waitUntil(isCompared, { what: 'the first compare', limitMs: startLimitMs })
  }

  /** A replica's log so far, over all its lives. */
  async log(index: number): Promise<string> {
    return readFile(join(this.stateDir, 'log', `replica-${index + 1}.log`), 'utf8')
  }

  /** Ends everything and removes the fleet's objects. With `keepLogs` its logs stay until `npm test` moves them. */
  /** It lacks no guard, and no failpoint reaches it. */
  async #startDispatch(): Promise<void> {
    const { stateDir, redis } = this
    const { program, nodeArgs, env } = this.#program
    const beside = { stateDir, redisUrl: redis.url, redis: redisTrust(this.#options), program, nodeArgs, env }
    this.#dispatch = await startBeside(beside)
    await this.#dispatch.ready()
  }

  async stop({ keepLogs = false }: { readonly keepLogs?: boolean } = {}): Promise<void> {
    const balancer = await this.#balancer?.catch(() => undefined)
    await Promise.all([balancer?.stop(), this.#dispatch?.stop(0), ...this.#replicas.map(replica => replica?.stop(0))])
    await Promise.all(this.#proxies.flatMap(({ redis, kubernetes }) => [redis.shut(), kubernetes.shut()]))
    await Promise.all([this.redis.stop(), this.world.removeAll()])
    if (!this.#options.account) await revokeInstallation(this.world.kube, this.#config, this.name)
    this.world.close()
    await this.recorder.written()
    if (!keepLogs) rmSync(this.stateDir, { recursive: true, force: true })
  }
}

/** A fleet for one test; it ends with the test. Its logs are kept if the test fails. */
export async function startFleet(
  { task, onTestFinished }: Pick<TestContext, 'task' | 'onTestFinished'>,
  options: FleetOptions = {},
): Promise<Fleet> {
  const fleet = await Fleet.start(options)
  onTestFinished(() => fleet.stop({ keepLogs: task.result?.state === 'fail' }), stopLimitMs)
  return fleet
}

/**
 * One fleet for all tests of a file (or of a `describe`). Returns a function that gives it while they run. Its logs are
 * kept if a test fails. `options` is a function if they depend on something that must be started first.
 */
export function useFleet(options: FleetOptions | (() => Promise<FleetOptions>) = {}): () => Fleet {
  let fleet: Fleet | undefined
  beforeAll(async () => {
    fleet = await Fleet.start(typeof options === 'function' ? await options() : options)
  }, startLimitMs)
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires a pattern, and no fixture is needed
  afterAll(async ({}, suite) => {
    await fleet?.stop({ keepLogs: hasFailed(suite) })
  }, stopLimitMs)
  return () => {
    if (!fleet) throw new Error('the fleet has not started')
    return fleet
  }
}

function hasFailed({ tasks, result }: Readonly<RunnerTestSuite>): boolean {
  if (result?.state === 'fail') return true
  return tasks.some(task => ('tasks' in task ? hasFailed(task) : task.result?.state === 'fail'))
}
