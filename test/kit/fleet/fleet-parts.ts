/** The parts of a fleet before its first replica starts: its Redis, its configuration, its users. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { blockBeside, userBeside } from '../../../dev/dispatch/beside.ts'
import { freePort } from '../../../dev/process/ports.ts'
import type { Redis, RedisOptions } from '../../../dev/redis/redis.ts'
import { type ConfigInput, makeSealingKey, stackConfig } from '../../../dev/stack/config.ts'
import type { ReplicaPorts } from '../../../dev/stack/haproxy.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import type { Account } from '../cluster/account.ts'
import type { Terms } from '../evidence/evidence.ts'
import type { Effect } from '../failpoints/arms.ts'
import { type ArmOptions, FailpointArms } from '../failpoints/failpoint-arms.ts'
import { makeProxies, type Proxies, type Servers } from '../network/proxies.ts'
import { programWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import type { TestProgram } from '../program/program.ts'
import { startTestRedis } from '../store/redis.ts'
import { testBed } from '../testbed.ts'
import { everythingByTls, redisTls, testTls } from '../tls/tls.ts'
import type { Credentials } from './client.ts'
import type { FullLab } from './full-lab.ts'
import { makeUser, type Overrides, type UserRecord } from './users.ts'

/** Short, because tests wait for these. */
const quick = { leaseTtlMs: 3000, scanIntervalMs: 300 }
/** A run starts hundreds of replicas, of which few see a crowd. */
const cold = { warmUpRequests: 0 }
/** Long: tests that need a compare cause one by what they break. */
const times = { compareIntervalSeconds: 3600, drainSeconds: 15 }

/** Environment variable of a run: all fleets stop labs that nobody uses, after a day. */
const idleVariable = 'SKYLAB_IDLE'
const idleAfterADay: ConfigInput['idle'] = { enabled: true, rules: [{ name: 'all', idleTimeoutSeconds: 86_400 }] }

/** Environment variable of a run: beside every fleet stands a process for containers, with a user of its own of the same Redis. */
export const hasDispatchBeside = process.env.SKYLAB_DISPATCH === '1'

/** Tests send requests faster than people, from few users. */
const generous = {
  limits: { maxBodiesPerUser: 512 },
  rates: { createsPerMinute: 6000, changesPerMinute: 6000, readsPerSecond: 5000, documentsPerSecond: 5000 },
}

export interface FleetOptions {
  /** Default 3. */
  readonly replicas?: number
  /** Changes to the configuration, by block. */
  readonly config?: ConfigInput
  /** Gives labs everything that can be configured, and users a quota. It is created before the first lab. */
  readonly fullLab?: FullLab
  /** Whether users have the default request rates. Default: false. */
  readonly defaultRates?: boolean
  /** Options of the fleet's own Redis. */
  readonly redis?: Pick<RedisOptions, 'aof' | 'wrongClock'>
  /** Whether the API and Redis use TLS. Default: as the environment of the run says. */
  readonly tls?: boolean
  /** Puts a proxy before Redis and one before the API server for each replica, in this state at the start. */
  readonly proxies?: 'open' | 'shut'
  /** Kubeconfig of the replicas. Default: the account of `k8s/base/rbac.yaml`. */
  readonly account?: Account
  /** Guards that the replicas lack, by their names in `controls.ts`. */
  readonly control?: string
  /** Added to the replicas' environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Failpoints armed before the first replica starts. */
  readonly failpoints?: readonly (ArmOptions & { readonly point: string; readonly effect: Effect })[]
  /** Kinds that only tests have, which the replicas run beside labs. */
  readonly kinds?: readonly string[]
  /** Another build of the program, and the indices of the replicas that run it: without failpoints, and without `kinds`. */
  readonly beside?: { readonly program: string; readonly replicas: readonly number[] }
  /** Whether a replica that ends is started again after 2 s, as by a Deployment. Default: false. */
  readonly restart?: boolean
  /** Number of plain users that `user()` can return. Default: 40. */
  readonly users?: number
  /** Properties of the plain users. */
  readonly user?: Overrides
  /** Users with special properties, by name. */
  readonly people?: Readonly<Record<string, Overrides>>
  /** Default: a new one. Two fleets may share it, as two installations that collide. */
  readonly namespacePrefix?: string
  readonly installation?: string
  /** Identifies users, if `config.identity` does not use the file of tokens. */
  readonly credentials?: Credentials
  /** Whether to wait until all are ready. Default true. */
  readonly ready?: boolean
  /** Number of completed operations of which the fleet asks every replica (P6). Default: none. */
  readonly readBack?: number
  /** State from before the first replica starts. Default: none, and plain users. */
  readonly inherits?: Inheritance
}

/** The state of an earlier installation. */
export interface Inheritance {
  readonly users: readonly UserRecord[]
  /** The file's text. */
  readonly sealingKey: string
  /** Fills the fleet's Redis, and the cluster. */
  readonly load: (redis: Redis) => Promise<unknown>
}

/** The configured limits that the judge checks. */
export function termsOf(input: ConfigInput): Terms {
  const { installation, lab, redis, engine, times } = configSchema.parse(input)
  return {
    installation,
    namespacePrefix: lab.namespacePrefix,
    keyPrefix: redis.keyPrefix,
    ttlMs: engine.leaseTtlMs,
    scanMs: engine.scanIntervalMs,
    spawnMs: times.spawnTimeoutSeconds * 1000,
    deleteMs: times.deleteTimeoutSeconds * 1000,
  }
}

export interface FleetParts {
  readonly name: string
  readonly stateDir: string
  readonly redis: Redis
  readonly failpoints: FailpointArms
  readonly options: FleetOptions
  readonly config: ConfigInput
  readonly ports: readonly ReplicaPorts[]
  readonly proxies: readonly Proxies[]
  readonly users: readonly UserRecord[]
  readonly program: TestProgram
}

export async function prepare(options: FleetOptions): Promise<FleetParts> {
  const place = testBed()
  const name = `t${randomBytes(4).toString('hex')}`
  const stateDir = join(place.stateDir, 'fleets', name)
  mkdirSync(stateDir, { recursive: true })
  const failpoints = new FailpointArms(join(stateDir, 'failpoints'))
  const program = await programWithout([process.env[controlVariable], options.control].join(','))
  const redis = await startTestRedis({
    ...{ stateDir, keyPrefix: options.config?.redis?.keyPrefix, tls: isByTls(options) ? redisTls() : undefined },
    ...(hasDispatchBeside && { users: [userBeside] }),
    ...options.redis,
  })
  const ports = await Promise.all(Array.from({ length: options.replicas ?? 3 }, freePorts))
  const servers = { redisUrl: redis.programUrl, kubeconfig: options.account?.kubeconfig ?? place.controllerKubeconfig }
  const config = configFor(name, options, servers)
  const proxies: Proxies[] = []
  const { inherits } = options
  const users = inherits?.users ?? usersFor(options)
  const mode = 0o600
  for (const index of ports.keys()) {
    if (options.proxies)
      proxies.push(await makeProxies(options.proxies, servers, join(stateDir, `replica-${index + 1}`)))
    const own = configFor(name, options, proxies[index]?.servers ?? servers)
    await writeFile(configFile(stateDir, index), stringify(own, { version: '1.1' }), { mode })
  }
  await writeFile(join(stateDir, 'tokens.yaml'), formatTokens({ tokens: [...users] }), { mode })
  await writeFile(join(stateDir, 'sealing.key'), inherits?.sealingKey ?? makeSealingKey(), { mode })
  await inherits?.load(redis)
  return { name, stateDir, redis, failpoints, options, config, ports, proxies, users, program }
}

const freePorts = async (): Promise<ReplicaPorts> => ({ port: await freePort(), monitoringPort: await freePort() })

/** Whether a replica runs another build. */
export const runsOther = ({ beside }: FleetOptions, index: number) => beside?.replicas.includes(index) ?? false

/** The command of a replica: the fleet's program with its kinds, or another build as it is. */
export function commandOf(ours: TestProgram, options: FleetOptions, index: number): Omit<TestProgram, 'modules'> {
  const { beside, kinds = [] } = options
  if (beside && runsOther(options, index)) return { program: beside.program, nodeArgs: [], env: {} }
  const { modules, nodeArgs, ...program } = ours
  return { ...program, nodeArgs: [...nodeArgs, ...kinds.flatMap(kind => ['--import', join(modules, `${kind}.mjs`)])] }
}

export const configFile = (stateDir: string, index: number) => join(stateDir, `replica-${index + 1}.yaml`)

function configFor(name: string, options: FleetOptions, { redisUrl, kubeconfig }: Servers): ConfigInput {
  const { images, labsOnKwok } = testBed()
  const { config = {}, installation = name, namespacePrefix = name, fullLab } = options
  const overrides: ConfigInput = {
    logLevel: 'debug',
    installation,
    ...(process.env[idleVariable] === '1' && { idle: idleAfterADay }),
    ...(hasDispatchBeside && { dispatch: blockBeside }),
    ...config,
    api: withTls(options, { ...cold, ...(options.defaultRates ? config.api : generously(config.api)) }),
    engine: { ...quick, ...config.engine },
    times: { ...times, ...config.times },
  }
  const made = stackConfig({ redisUrl, kubeconfig, images, labsOnKwok, overrides })
  return {
    ...made,
    redis: { keyPrefix: 'skylab', ...redisTrust(options), ...made.redis },
    lab: { namespacePrefix, terminationGraceSeconds: 1, ...fullLab?.lab, ...made.lab },
    // A control may remove the policy.
    kubernetes: {
      requirePolicy: !isControlled(),
      ...(fullLab && { namespace: fullLab.namespace }),
      ...(options.account && { namespace: options.account.namespace }),
      ...made.kubernetes,
    },
    // All fleets share the nodes: tests of prepulling enable it.
    images: { prepull: { enabled: false }, ...made.images },
  }
}

/** The part of the block `redis` by which processes trust it. */
export const redisTrust = (options: Pick<FleetOptions, 'tls'>): ConfigInput['redis'] =>
  isByTls(options) ? { caFile: testTls().authority.caFile } : {}

export const isByTls = ({ tls = everythingByTls }: Pick<FleetOptions, 'tls'>) => tls

/** A test may set more of `api.tls` than the certificate. */
function withTls(options: FleetOptions, api: ConfigInput['api']): ConfigInput['api'] {
  if (!isByTls(options)) return api
  const { certFile, keyFile } = testTls().server
  return { ...api, tls: { certFile, keyFile, ...api?.tls } }
}

const isControlled = () => Boolean(process.env[controlVariable])

function generously(api: ConfigInput['api']): ConfigInput['api'] {
  return { ...api, limits: { ...generous.limits, ...api?.limits }, rates: { ...generous.rates, ...api?.rates } }
}

function usersFor({ users = 40, people = {}, fullLab, user = fullLab?.user }: FleetOptions): UserRecord[] {
  const plain = Array.from({ length: users }, (_, index) => makeUser(`u${index + 1}`, index + 1, user))
  const special = Object.entries(people).map(([name, more], index) => makeUser(name, 100_000 + index, more))
  const scopes = ['exec:notebook', 'admin:jupyterlab']
  // The judge has its own account, so that its requests do not count for the administrator's limits.
  const administrators = ['admin', 'judge'].map((name, index) => makeUser(name, 200_000 + index, { scopes }))
  return [...administrators, ...plain, ...special]
}
