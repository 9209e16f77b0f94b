/** Replicas that serve containers, and a cloud whose machines are processes of this host: no Kubernetes, no root. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { Machines } from '../../src/clouds/loopback/folder.ts'
import { newKey } from '../../src/ssh/new-key.ts'
import { bundle } from '../image/bundle.ts'
import type { Progress } from '../process/progress.ts'
import { type Redis, startRedis } from '../redis/redis.ts'
import { setup } from '../setup/setup.ts'
import { type ConfigInput, type DemoUsers, formatUsers, makeSealingKey, makeUsers } from '../stack/config.ts'
import { Replica } from '../stack/replicas.ts'
import { quickTimes } from './times.ts'

const keyPrefix = 'skylab-dispatch'
export const mostMachines = 5

/** What the cloud offers: processors decide which type a container gets. */
export const machineTypes = {
  small: { VCPUs: 1, RAM: '4GiB', Price: 0.1 },
  large: { VCPUs: 4, RAM: '16GiB', Price: 0.4 },
} as const

/** Files beside the configuration. Their secrets are readable by this user alone. */
export const files = {
  token: 'dispatch.token',
  managementToken: 'management.token',
  sealingKey: 'sealing.key',
  sshKey: 'dispatch.key',
  tokens: 'tokens.yaml',
  config: 'skylab.yaml',
} as const

export type CloudInput = Partial<NonNullable<ConfigInput['dispatch']>['CloudVMs']>

export interface DispatchSite {
  readonly stateDir: string
  /** Of `skylab`. */
  readonly program: string
  readonly redis: Redis
  readonly replicas: readonly Replica[]
  readonly users: DemoUsers
  /** Of the operators' API. */
  readonly managementToken: string
  /** Paths of the files with tokens. */
  readonly tokenFiles: { readonly users: string; readonly management: string }
  /** The machines, as they lie on the disk. */
  readonly cloud: Machines
}

export interface DispatchSiteOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly replicas: number
  readonly users: number
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
  /** Of the configuration. */
  readonly overrides?: {
    readonly api?: ConfigInput['api']
    readonly cloud?: CloudInput
    /** Whether owners reach into their containers. Default: administrators alone do. */
    readonly shells?: boolean
  }
}

export const setupDispatch = (progress: Progress, signal?: AbortSignal) => setup(['redis', 'ssh'], progress, signal)

export const cloudOf = (stateDir: string): Machines => new Machines(join(stateDir, 'cloud'))

/** Machines outlive replicas, and would outlive a demo that failed. */
export async function endMachines(cloud: Machines): Promise<void> {
  for (const { id, state } of await cloud.all()) if (state !== 'gone') await cloud.end(id)
}

/** Starts all parts; resolves when every replica is ready. When `signal` or a failure interrupts it, the run ends its parts. */
export async function startDispatch(options: DispatchSiteOptions): Promise<DispatchSite> {
  const { stateDir, progress, signal } = options
  const [redis, program] = await Promise.all([
    progress.part('Redis', () => startRedis({ stateDir, keyPrefix, signal })),
    progress.part('program', () => bundle({ dir: join(stateDir, 'program') })),
  ])
  const at = (file: string) => join(stateDir, file)
  const users = makeUsers(options.users)
  const { managementToken, configFile } = await writeDispatch(stateDir, configOf(redis.programUrl, options), users)
  const replicas = await progress.part('replicas that serve containers', () =>
    startReplicas({ ...options, program, configFile }),
  )
  const tokenFiles = { users: at(files.tokens), management: at(files.managementToken) }
  return { stateDir, program, redis, replicas, users, managementToken, tokenFiles, cloud: cloudOf(stateDir) }
}

interface ReplicasPlan extends DispatchSiteOptions {
  readonly program: string
  readonly configFile: string
}

async function startReplicas(plan: ReplicasPlan): Promise<Replica[]> {
  const { replicas, stateDir, program, configFile, progress, signal } = plan
  const say = (words: string) => progress.say(words)
  const started = await Promise.all(
    Array.from({ length: replicas }, (_, index) =>
      Replica.start({ stateDir, configFile, program, say, name: `replica-${index + 1}` }),
    ),
  )
  try {
    await Promise.all(started.map(replica => replica.ready(signal)))
    return started
  } catch (error) {
    // Otherwise they would be restarted again and again while the run is being closed.
    await Promise.all(started.map(replica => replica.stop(0)))
    throw error
  }
}

/** Writes a configuration with the block of {@link dispatchBlock}, and the files that it names, into a folder. */
export async function writeDispatch(folder: string, config: ConfigInput, users: DemoUsers) {
  const write = (file: string, text: string) => writeFile(join(folder, file), text, { mode: 0o600 })
  const managementToken = randomBytes(24).toString('hex')
  await Promise.all([
    write(files.token, randomBytes(24).toString('hex')),
    write(files.managementToken, managementToken),
    write(files.sealingKey, makeSealingKey()),
    write(files.sshKey, newKey().private),
    write(files.tokens, formatUsers(users)),
    write(files.config, stringify(config, { version: '1.1' })),
  ])
  return { managementToken, configFile: join(folder, files.config) }
}

/** The settings of a process for dispatch. */
export const dispatchConfig = (redis: ConfigInput['redis'], dispatch: ConfigInput['dispatch']): ConfigInput => ({
  ...{ run: ['dispatch'], installation: 'demo', redis, dispatch },
  api: { host: '127.0.0.1' },
  identity: { provider: 'static', static: { file: files.tokens } },
  sealing: { keyFiles: [files.sealingKey] },
})

/** The block for a cloud of this host. @param directory of the machines @param cloud beside the defaults */
export const dispatchBlock = (directory: string, cloud: CloudInput = {}): NonNullable<ConfigInput['dispatch']> => ({
  ...{ clusterId: 'zzzzz', tokenFile: files.token, managementTokenFile: files.managementToken },
  InstanceTypes: machineTypes,
  CloudVMs: {
    ...{ Driver: 'loopback', DriverParameters: { Directory: directory }, BootProbeCommand: 'true' },
    ...cloud,
  },
  Containers: { DispatchPrivateKey: files.sshKey, RuntimeEngine: 'process' },
})

function configOf(redisUrl: string, { stateDir, overrides = {} }: DispatchSiteOptions): ConfigInput {
  const cloud = { ...quickTimes, MaxInstances: mostMachines, ...overrides.cloud }
  const config = dispatchConfig({ url: redisUrl, keyPrefix }, dispatchBlock(cloudOf(stateDir).folder, cloud))
  const engine = { leaseTtlMs: 3000, scanIntervalMs: 500 }
  const dispatch = config.dispatch!
  const containers = { ...dispatch.Containers, ...(overrides.shells && { ShellAccess: { User: true } }) }
  return {
    ...config,
    engine,
    api: { ...config.api, ...overrides.api },
    dispatch: { ...dispatch, Containers: containers },
  }
}
