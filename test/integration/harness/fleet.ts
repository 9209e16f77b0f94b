/** A fleet: several real replicas with a Redis, an installation and users of their own, on the tests' one cluster. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, type RunnerTestSuite, type TestContext } from 'vitest'
import { stringify } from 'yaml'
import { waitUntil } from '../../../box/api-client.ts'
import { type Balancer, startBalancer } from '../../../box/haproxy.ts'
import { freePort } from '../../../box/ports.ts'
import { type Redis, type RedisOptions, startRedis } from '../../../box/redis.ts'
import { type ConfigInput, stackConfig } from '../../../box/stack-config.ts'
import { Replica } from '../../../box/stack-replicas.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import { labNames } from '../../../src/labs/names.ts'
import { type ArmOptions, Armoury } from './armoury.ts'
import { type Effect, folderVariable } from './arms.ts'
import { AuditLog } from './audit.ts'
import { Client } from './client.ts'
import { sourceWithout } from './controlled.ts'
import { controlVariable } from './controls.ts'
import { testPlace } from './place.ts'
import { makeUser, type Overrides, type UserRecord } from './users.ts'
import { makeWays, type Servers, type Ways } from './ways.ts'
import { World } from './world.ts'

/** Short where it costs nothing: tests wait for these. */
const quick = { leaseTtlMs: 3000, scanIntervalMs: 300 }
/** Tests that want a compare ask for one by what they break. */
const times = { compareIntervalSeconds: 3600, drainSeconds: 15 }

/** Above what a busy machine needs. */
const startLimitMs = 90_000
const stopLimitMs = 60_000

export interface FleetOptions {
  /** Default 3. */
  readonly replicas?: number
  /** Changes to the configuration, block by block. */
  readonly config?: ConfigInput
  /** Of the fleet's own Redis. */
  readonly redis?: Pick<RedisOptions, 'aof'>
  /** Puts a proxy before Redis and one before the API server for each replica, as they are to be at the start. */
  readonly proxies?: 'open' | 'shut'
  /** Guards that the replicas are to do without, as `controls.ts` names them. */
  readonly control?: string
  /** Added to the replicas' environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Armed before the first replica starts. */
  readonly failpoints?: readonly (ArmOptions & { readonly point: string; readonly effect: Effect })[]
  /** Whether a replica that ends is started again after 2 s, as by a Deployment. Default false. */
  readonly restart?: boolean
  /** How many plain users there are to take from by `user()`. Default 40. */
  readonly users?: number
  /** Users with something special, by name; plain ones otherwise. */
  readonly people?: Readonly<Record<string, Overrides>>
  /** Default: a new one. Two fleets may share it, as two installations that collide. */
  readonly namespacePrefix?: string
  readonly installation?: string
  /** Whether to wait until all are ready. Default true. */
  readonly ready?: boolean
}

export class Fleet {
  readonly name: string
  readonly stateDir: string
  readonly installation: string
  readonly namespacePrefix: string
  readonly redis: Redis
  /** `redis.keyPrefix` of the configuration. */
  readonly keyPrefix: string
  readonly armoury: Armoury
  /** May do all that an administrator of labs may. */
  readonly admin: Client
  readonly world: World
  readonly audit: AuditLog
  readonly #options: FleetOptions
  readonly #root: string
  readonly #tokens: ReadonlyMap<string, UserRecord>
  readonly #fresh: string[]
  readonly #ports: readonly number[]
  readonly #ways: readonly Ways[]
  readonly #replicas: (Replica | undefined)[] = []
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
    this.armoury = parts.armoury
    this.#options = options
    this.#root = parts.root
    this.#tokens = new Map(users.map(user => [user.username, user]))
    this.#fresh = users.filter(({ username }) => /^u\d+$/.test(username)).map(({ username }) => username)
    this.#ports = ports
    this.#ways = parts.ways
    this.admin = this.as('admin')
    this.world = new World(this)
    this.audit = new AuditLog(testPlace().auditLog)
  }

  static async start(options: FleetOptions = {}): Promise<Fleet> {
    const parts = await prepare(options)
    const fleet = new Fleet(parts)
    for (const { point, effect, ...more } of options.failpoints ?? []) fleet.armoury.arm(point, effect, more)
    try {
      await Promise.all(fleet.#ports.map((_, index) => fleet.start(index, { ready: false })))
      if (options.ready !== false) await fleet.ready()
      return fleet
    } catch (error) {
      await fleet.stop({ keepLogs: true })
      throw error
    }
  }

  get size(): number {
    return this.#ports.length
  }

  /** Address of one replica, whether it runs or not. */
  url(index: number): string {
    return `http://127.0.0.1:${this.#ports[index]}`
  }

  /** Addresses of all replicas. */
  get urls(): string[] {
    return this.#ports.map((_, index) => this.url(index))
  }

  /** Of a replica that runs, another one each time. */
  anyUrl(): string {
    for (let tries = 0; tries < this.size; tries++) {
      this.#turn = (this.#turn + 1) % this.size
      if (this.#replicas[this.#turn]) return this.url(this.#turn)
    }
    return this.url(0)
  }

  /** Address of a balancer as in production; started when first asked for. */
  async balancerUrl(): Promise<string> {
    this.#balancer ??= startBalancer({
      stateDir: this.stateDir,
      program: testPlace().haproxy,
      replicaPorts: this.#ports,
    })
    return (await this.#balancer).url
  }

  replica(index: number): Replica {
    const replica = this.#replicas[index]
    if (!replica) throw new Error(`replica ${index} does not run`)
    return replica
  }

  /** What stands between a replica and its servers, in fleets with `proxies`. */
  ways(index: number): Ways {
    const ways = this.#ways[index]
    if (!ways) throw new Error('the fleet was started without proxies')
    return ways
  }

  /** The index of the replica that calls itself so, as marks of blows and logs have it. */
  indexOf(name: string): number {
    return Number(/\d+$/.exec(name)?.[0]) - 1
  }

  /** A user whom no test has seen yet. Requests go round the replicas that run. */
  user(): Client {
    const name = this.#fresh.shift()
    if (name === undefined) throw new Error('the fleet has no more users: start it with more')
    return this.as(name)
  }

  /** One of `people`, or `admin`. */
  as(username: string): Client {
    const token = this.#tokens.get(username)?.token
    if (token === undefined) throw new Error(`nobody is called ${username} here`)
    return new Client(() => this.anyUrl(), username, token)
  }

  /** A user's namespace. */
  namespace(username: string): string {
    return labNames(this.namespacePrefix, username).namespace
  }

  arm(point: string, effect: Effect, options: ArmOptions = {}) {
    return this.armoury.arm(point, effect, options)
  }

  /** Sends a signal to a replica. One that it ends is out of the round from now on; resolves when it has ended. */
  async kill(index: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const replica = this.replica(index)
    const ends = signal === 'SIGKILL' || signal === 'SIGTERM'
    if (ends && !this.#options.restart) this.#replicas[index] = undefined
    const ended = replica.ended
    replica.kill(signal)
    if (ends) await ended
  }

  /** Starts a replica, the first time or after its end, under the name and on the port it always has. */
  async start(index: number, { ready = true }: { readonly ready?: boolean } = {}): Promise<Replica> {
    const { env, restart = false } = this.#options
    const replica = await Replica.start({
      name: `replica-${index + 1}`,
      port: this.#ports[index],
      stateDir: this.stateDir,
      configFile: configFile(this.stateDir, index),
      env: { ...env, [folderVariable]: this.armoury.folder },
      root: this.#root,
      // The very module of `failpoint` that this program loads.
      nodeArgs: ['--import', join(this.#root, 'test/integration/harness/failpoints.ts')],
      restart,
    })
    this.#replicas[index] = replica
    void replica.ended.then(() => {
      if (!restart && this.#replicas[index] === replica) this.#replicas[index] = undefined
    })
    if (ready) await replica.ready()
    return replica
  }

  /** Waits until all that run are ready, and until Redis' data were compared: before that requests are put off. */
  async ready(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica?.ready()))
    const isCompared = async () => (await this.admin.labs()).status === 200
    await waitUntil(isCompared, { what: 'the first compare', limitMs: startLimitMs })
  }

  /** What a replica has logged so far, in all its lives. */
  async log(index: number): Promise<string> {
    return readFile(join(this.stateDir, 'log', `replica-${index + 1}.log`), 'utf8')
  }

  /** Ends all of it and removes what it made; with `keepLogs` the folder of its logs stays until `npm test` takes it. */
  async stop({ keepLogs = false }: { readonly keepLogs?: boolean } = {}): Promise<void> {
    const balancer = await this.#balancer?.catch(() => undefined)
    await Promise.all([balancer?.stop(), ...this.#replicas.map(replica => replica?.stop(0))])
    await Promise.all(this.#ways.flatMap(({ redis, kubernetes }) => [redis.shut(), kubernetes.shut()]))
    await Promise.all([this.redis.stop(), this.world.removeAll()])
    this.world.close()
    if (!keepLogs) rmSync(this.stateDir, { recursive: true, force: true })
  }
}

interface FleetParts {
  readonly name: string
  readonly stateDir: string
  readonly redis: Redis
  readonly armoury: Armoury
  readonly options: FleetOptions
  readonly config: ConfigInput
  readonly ports: readonly number[]
  readonly ways: readonly Ways[]
  readonly users: readonly UserRecord[]
  /** Of the source that the replicas run. */
  readonly root: string
}

async function prepare(options: FleetOptions): Promise<FleetParts> {
  const place = testPlace()
  const name = `t${randomBytes(4).toString('hex')}`
  const stateDir = join(place.stateDir, 'fleets', name)
  mkdirSync(stateDir, { recursive: true })
  const armoury = new Armoury(join(stateDir, 'failpoints'))
  const root = sourceWithout([process.env[controlVariable], options.control].join(','))
  const redis = await startRedis({ stateDir, ...options.redis })
  const ports = await Promise.all(Array.from({ length: options.replicas ?? 3 }, () => freePort()))
  const servers = { redisUrl: redis.url, kubeconfig: place.controllerKubeconfig }
  const config = configFor(name, options, servers)
  const ways: Ways[] = []
  const users = usersFor(options)
  const mode = 0o600
  for (const index of ports.keys()) {
    if (options.proxies) ways.push(await makeWays(options.proxies, servers, join(stateDir, `replica-${index + 1}`)))
    const own = configFor(name, options, ways[index]?.servers ?? servers)
    await writeFile(configFile(stateDir, index), stringify(own, { version: '1.1' }), { mode })
  }
  await writeFile(join(stateDir, 'tokens.yaml'), formatTokens({ tokens: users }), { mode })
  await writeFile(join(stateDir, 'sealing.key'), `${randomBytes(32).toString('base64')}\n`, { mode })
  return { name, stateDir, redis, armoury, options, config, ports, ways, users, root }
}

const configFile = (stateDir: string, index: number) => join(stateDir, `replica-${index + 1}.yaml`)

function configFor(name: string, options: FleetOptions, { redisUrl, kubeconfig }: Servers): ConfigInput {
  const { images, labsOnKwok } = testPlace()
  const { config = {}, installation = name, namespacePrefix = name } = options
  const overrides: ConfigInput = {
    logLevel: 'debug',
    installation,
    ...config,
    engine: { ...quick, ...config.engine },
    times: { ...times, ...config.times },
  }
  const made = stackConfig({ redisUrl, kubeconfig, images, labsOnKwok, overrides })
  return {
    ...made,
    redis: { keyPrefix: 'skylab', ...made.redis },
    lab: { namespacePrefix, terminationGraceSeconds: 1, ...made.lab },
  }
}

function usersFor({ users = 40, people = {} }: FleetOptions): UserRecord[] {
  const plain = Array.from({ length: users }, (_, index) => makeUser(`u${index + 1}`, index + 1))
  const special = Object.entries(people).map(([name, more], index) => makeUser(name, 100_000 + index, more))
  const admin = makeUser('admin', 0, { scopes: ['exec:notebook', 'admin:jupyterlab'] })
  return [admin, ...plain, ...special]
}

/** A fleet for one test, ended with it; its logs are kept when the test fails. */
export async function startFleet(
  { task, onTestFinished }: Pick<TestContext, 'task' | 'onTestFinished'>,
  options: FleetOptions = {},
): Promise<Fleet> {
  const fleet = await Fleet.start(options)
  onTestFinished(() => fleet.stop({ keepLogs: task.result?.state === 'fail' }), stopLimitMs)
  return fleet
}

/** One fleet for all tests of a file (or of a `describe`): gives it once they run, and keeps its logs when one fails. */
export function useFleet(options: FleetOptions = {}): () => Fleet {
  let fleet: Fleet | undefined
  beforeAll(async () => {
    fleet = await Fleet.start(options)
  }, startLimitMs)
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern that no fixture is asked for
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
