/** Replicas that serve dispatch, with a Redis of their own: real processes, and real machines of a cloud of this host. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { stringify } from 'yaml'
import { quickTimes } from '../../../dev/dispatch/times.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Machines } from '../../../src/clouds/loopback/folder.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { MachineBrief } from '../../../src/dispatch/container.ts'
import type { RunSpec } from '../../../src/dispatch/protocol.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import { newKey } from '../../../src/ssh/new-key.ts'
import { Connection } from '../../../src/store/connection.ts'
import { ContainerStore } from '../../../src/store/dispatch/containers.ts'
import type { ContainerShown } from '../../../src/store/dispatch/forms.ts'
import { MachineStore } from '../../../src/store/dispatch/machines.ts'
import { Keys } from '../../../src/store/keys.ts'
import { dispatchAclLine } from '../../../src/store/rights.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { folderVariable } from '../failpoints/arms.ts'
import { FailpointArms } from '../failpoints/failpoint-arms.ts'
import { makeUser } from '../fleet/users.ts'
import { TcpProxy } from '../network/proxy.ts'
import { programWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import { startTestRedis } from '../store/redis.ts'
import { testBed } from '../testbed.ts'
import { brokenRules } from './invariants.ts'

type Dispatch = NonNullable<ConfigInput['dispatch']>

export interface DispatchFleetOptions {
  readonly replicas?: number
  /** Of the block `CloudVMs`, beside the driver `loopback` and short times. */
  readonly cloud?: Partial<Dispatch['CloudVMs']>
  readonly types?: Dispatch['InstanceTypes']
  readonly containers?: Partial<Dispatch['Containers']>
  readonly engine?: ConfigInput['engine']
  readonly tracing?: ConfigInput['tracing']
  /** An Arvados whose queue is mirrored. */
  readonly arvados?: { readonly url: string; readonly token: string }
  /** Limits of tenants, and the prefix of those who serve them on this Redis. Users are `oidc:NAME` in the cluster. */
  readonly tenants?: {
    readonly keyPrefix: string
    readonly limits: Dispatch['tenants']
    readonly billingTags?: string[]
    /** The block `tenants.billing`: what containers cost is written there. */
    readonly billing?: NonNullable<ConfigInput['tenants']>['billing']
  }
  readonly env?: Readonly<Record<string, string>>
  /** Whether Redis keeps its data over a restart. */
  readonly aof?: boolean
  /** Whether each replica reaches Redis through a proxy of its own. */
  readonly proxies?: boolean
  /** Makes the program for its machines, in the fleet's folder. @returns its path */
  readonly runner?: (stateDir: string) => string
  /** Guards that its replicas lack, beside those of the run. */
  readonly control?: string
}

/** Callers of REST. */
const people = {
  admin: makeUser('admin', 1, { scopes: ['exec:notebook', 'admin:jupyterlab'] }),
  ada: makeUser('ada', 2),
  bob: makeUser('bob', 3),
}

export interface Wish {
  readonly command: readonly string[]
  /** Default: one that the engine `process` does not look for. */
  readonly image?: string
  readonly vcpus?: number
  readonly owner?: string
  readonly priority?: number
  readonly environment?: Readonly<Record<string, string>>
  readonly maxRunSeconds?: number
  readonly mostRuns?: number
}

const gib = 2 ** 30
const types: Dispatch['InstanceTypes'] = {
  small: { VCPUs: 1, RAM: '4GiB', Price: 0.1 },
  large: { VCPUs: 4, RAM: '16GiB', Price: 0.4 },
}

export class DispatchFleet {
  readonly name: string
  readonly stateDir: string
  readonly failpoints: FailpointArms
  readonly replicas: Replica[] = []
  readonly containers: ContainerStore
  readonly machines: MachineStore
  readonly client: Client
  readonly redis: Redis
  /** In the order of the replicas, with the option `proxies`. */
  readonly proxies: TcpProxy[] = []
  readonly #connection: Connection
  readonly #sealer: Sealer

  private constructor(name: string, stateDir: string, redis: Redis, sealingKey: Buffer) {
    this.name = name
    this.stateDir = stateDir
    this.failpoints = new FailpointArms(join(stateDir, 'failpoints'))
    this.redis = redis
    this.#sealer = new Sealer([sealingKey])
    this.client = new Client(redis.url)
    const config = configSchema.parse({ redis: { url: redis.url, keyPrefix: name } }).redis
    this.#connection = new Connection({ config, clock: systemClock })
    const keys = new Keys(name)
    const connection = this.#connection
    const sealing = { ids: this.#sealer.ids, keepMs: 60_000, idleMs: 20_000 }
    const limits = { idempotencyMs: 600_000, activeBytes: 64 * 2 ** 20 }
    this.containers = new ContainerStore({ connection, keys, sealing, clusterId: 'zzzzz', ...limits })
    this.machines = new MachineStore({ connection, keys, sealing })
  }

  static async start(options: DispatchFleetOptions = {}): Promise<DispatchFleet> {
    const name = `dsp-${randomBytes(3).toString('hex')}`
    const stateDir = join(testBed().stateDir, 'fleets', name)
    mkdirSync(stateDir, { recursive: true })
    const redis = await startTestRedis({ stateDir, keyPrefix: name, aof: options.aof ?? false })
    const sealingKey = randomBytes(32)
    const secrets = {
      'dispatch.token': randomBytes(24).toString('hex'),
      'management.token': randomBytes(24).toString('hex'),
      'sealing.key': sealingKey.toString('base64'),
      'dispatch.key': newKey().private,
    }
    const tokens = formatTokens({ tokens: Object.values(people) })
    const ofArvados = options.arvados && { 'arvados.token': options.arvados.token }
    for (const [file, text] of Object.entries({ ...secrets, ...ofArvados, 'tokens.yaml': tokens }))
      writeFileSync(join(stateDir, file), text, { mode: 0o600 })
    const fleet = new DispatchFleet(name, stateDir, redis, sealingKey)
    const controls = [process.env[controlVariable] ?? '', options.control ?? ''].join()
    const { program, nodeArgs, env } = await programWithout(controls)
    const environment = { ...env, ...options.env, [folderVariable]: fleet.failpoints.folder }
    fleet.#connection.open()
    try {
      if (options.tenants) await fleet.#mayRead(options.tenants.keyPrefix)
      for (let count = 1; count <= (options.replicas ?? 2); count++) {
        const configFile = join(stateDir, `skylab-${count}.yaml`)
        const redisUrl = options.proxies ? await fleet.#proxied() : redis.programUrl
        writeFileSync(configFile, stringify(configOf(name, redisUrl, stateDir, options)), { mode: 0o600 })
        const one = { stateDir, configFile, name: `dispatch-${count}`, program, nodeArgs, env: environment }
        fleet.replicas.push(await Replica.start(one))
      }
      await Promise.all(fleet.replicas.map(replica => replica.ready()))
      return fleet
    } catch (error) {
      await fleet.stop()
      throw error
    }
  }

  /** Its user of Redis gets exactly the rights of the component. */
  async #mayRead(tenants: string): Promise<void> {
    const line = dispatchAclLine({ name: 'program', password: '>program', keyPrefix: this.name, tenants })
    await this.client.call('ACL', ...line.replace(/^user/, 'SETUSER').split(' '))
  }

  async #proxied(): Promise<string> {
    const proxy = await TcpProxy.before(this.redis.programUrl)
    await proxy.open()
    this.proxies.push(proxy)
    return Object.assign(new URL(this.redis.programUrl), { port: String(proxy.port) }).href
  }

  /** The machines of the driver `loopback`. */
  get cloud(): Machines {
    return new Machines(join(this.stateDir, 'cloud'))
  }

  /** Submits a container, as REST does. @returns its uuid */
  async submit(wish: Wish): Promise<string> {
    const { owner = 'ada', image = 'busybox', vcpus = 1, environment = {} } = wish
    const { command, maxRunSeconds = 0, mostRuns = 3 } = wish
    const spec: RunSpec = {
      ...{ command, image, environment, cwd: '/', mounts: {}, vcpus, ramBytes: gib, maxRunSeconds },
    }
    const accepted = await this.containers.accept({
      nonce: randomBytes(8).toString('hex'),
      view: {
        ...{ owner, command, container_image: image, environment, cwd: '/', mounts: {} },
        runtime_constraints: { vcpus, ram: gib, gpus: 0 },
        scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: maxRunSeconds },
        container_count_max: mostRuns,
      },
      shape: {
        need: { vcpus, ramBytes: gib, scratchBytes: 0, gpus: 0, preemptible: false },
        ...{ tenant: 'default', supervisor: false },
      },
      priority: wish.priority ?? 500,
      sealSpec: (keyId, sealedName, nonce) => this.#sealer.seal(JSON.stringify(spec), sealedName, nonce, keyId),
    })
    if (!('uuid' in accepted)) throw new Error(`not accepted: ${JSON.stringify(accepted)}`)
    return accepted.uuid
  }

  /** Asks REST of one replica. `who`: nobody, one of the people, or the operators' management token. */
  async rest(
    who: keyof typeof people | 'nobody' | 'management',
    path: string,
    init: { readonly method?: string; readonly body?: object; readonly headers?: Record<string, string> } = {},
    replica = 0,
  ): Promise<{ readonly status: number; readonly body: unknown; readonly headers: Headers }> {
    const management = () => readFileSync(join(this.stateDir, 'management.token'), 'utf8')
    const token = who === 'nobody' ? undefined : who === 'management' ? management() : people[who].token
    const { method = 'GET', body, headers: more = {} } = init
    const headers = { ...more, 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${this.replicas[replica]!.url}${path}`, request)
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.includes('json')
    return { status: answer.status, body: isJson ? JSON.parse(text) : text, headers: answer.headers }
  }

  tokenOf(who: keyof typeof people): string {
    return people[who].token
  }

  /** The replica that keeps a machine; undefined while none does. */
  async keeper(): Promise<Replica | undefined> {
    for (const replica of this.replicas) {
      const text = await fetch(`${replica.monitoringUrl}/metrics`).then(
        answer => answer.text(),
        () => '',
      )
      const [, owned = '0'] = /^skylab_dispatch_owned(?:{[^}]*})? (\d+)/m.exec(text) ?? []
      if (Number(owned) > 0) return replica
    }
    return undefined
  }

  async find(uuid: string): Promise<ContainerShown> {
    const found = await this.containers.find(uuid)
    if (!found) throw new Error(`no container ${uuid}`)
    return found
  }

  /** What a container has printed, as far as it is kept. */
  async output(uuid: string): Promise<string> {
    const read = await this.containers.log(uuid, 0)
    return Buffer.concat(read?.pieces.map(({ bytes }) => bytes) ?? []).toString()
  }

  list(): Promise<MachineBrief[]> {
    return this.machines.list()
  }

  /** Rules of the keys in Redis that are broken now. */
  broken(): Promise<readonly string[]> {
    return brokenRules(this.client, new Keys(this.name))
  }

  log(): string {
    return this.replicas.map(({ name }) => readFileSync(join(this.stateDir, 'log', `${name}.log`), 'utf8')).join('\n')
  }

  async stop(): Promise<void> {
    this.failpoints.letGo()
    await Promise.all(this.replicas.map(replica => replica.stop()))
    // Machines of this computer outlive their replicas, with the containers on them.
    const machines = await this.cloud.all()
    const ended = await Promise.allSettled(machines.map(({ id, state }) => state !== 'gone' && this.cloud.end(id)))
    this.client.disconnect()
    await this.#connection.close()
    await Promise.all(this.proxies.map(proxy => proxy.shut()))
    await this.redis.stop()
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }
}

const arvadosOf = ({ url }: { readonly url: string }) => ({ url, tokenFile: 'arvados.token', StaleLockTimeout: '1s' })

function configOf(name: string, redisUrl: string, stateDir: string, options: DispatchFleetOptions): ConfigInput {
  const { leaseTtlMs = 3000, scanIntervalMs = 500, ...rest } = options.engine ?? {}
  const engine = { ...rest, leaseTtlMs, scanIntervalMs }
  return {
    ...{ run: ['dispatch'], installation: name, logLevel: 'debug' },
    api: { host: '127.0.0.1' },
    redis: { url: redisUrl, keyPrefix: name, commandTimeoutMs: Math.floor(leaseTtlMs / 3) },
    identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    sealing: { keyFiles: ['sealing.key'] },
    engine,
    ...(options.tracing && { tracing: options.tracing }),
    ...(options.tenants && {
      tenants: { rest: { usernameTemplate: 'oidc:{username}' }, billing: options.tenants.billing },
    }),
    dispatch: {
      ...(options.tenants && {
        tenantsKeyPrefix: options.tenants.keyPrefix,
        tenants: options.tenants.limits,
        billingTags: options.tenants.billingTags,
        billAmounts: options.tenants.billing !== undefined,
      }),
      ...{ clusterId: 'zzzzz', tokenFile: 'dispatch.token', managementTokenFile: 'management.token' },
      InstanceTypes: options.types ?? types,
      ...(options.arvados && { queue: { arvados: arvadosOf(options.arvados) } }),
      CloudVMs: {
        ...{ Driver: 'loopback', DriverParameters: { Directory: join(stateDir, 'cloud') }, BootProbeCommand: 'true' },
        ...quickTimes,
        ...options.cloud,
        ...(options.runner && { DeployRunnerBinary: options.runner(stateDir) }),
      },
      Containers: { DispatchPrivateKey: 'dispatch.key', RuntimeEngine: 'process', ...options.containers },
    },
  }
}
