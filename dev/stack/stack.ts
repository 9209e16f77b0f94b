/** A whole stack for labs: Redis, a cluster, replicas of the controller and a balancer in front of them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rightsText } from '../../src/cli/rights.ts'
import { type Config, configSchema } from '../../src/config/schema.ts'
import { renderRights } from '../../src/labs/rights.ts'
import { clusterNeeds, startCluster } from '../cluster/cluster.ts'
import type { Cluster, ClusterChoice } from '../cluster/types.ts'
import { bundle } from '../image/bundle.ts'
import { labImage } from '../image/lab.ts'
import { untilPolicy } from '../kube/policy.ts'
import type { Progress } from '../process/progress.ts'
import { type Redis, startRedis } from '../redis/redis.ts'
import { type Need, setup, type Tools } from '../setup/setup.ts'
import { type ConfigInput, type DemoUsers, makeUsers, stackConfig, writeConfig } from './config.ts'
import { type Balancer, startBalancer } from './haproxy.ts'
import { provideImage } from './image.ts'
import { Replica } from './replicas.ts'

/** The files of k8s/ for replicas anywhere: their rights, and the policy that limits them. */
const manifests = ['namespace', 'rbac', 'policy'].map(name => new URL(`../../k8s/base/${name}.yaml`, import.meta.url))
/** Placeholders: the rights do not depend on these values. */
const nowhere = { redisUrl: '', kubeconfig: '', images: {} }
/** The controller's ServiceAccount in k8s/base/rbac.yaml. */
const account = { namespace: 'skylab', name: 'skylab' }

export interface StackOptions extends Omit<ClusterChoice, 'audit'> {
  readonly replicas: number
  /** Number of users with tokens; at least three are made. */
  readonly users: number
  /** More accounts for the API, by name. */
  readonly accounts?: DemoUsers
  /** The folder of an open run. */
  readonly stateDir: string
  readonly tools: Tools
  readonly progress: Progress
  readonly audit?: boolean
  /** Lines of more users of Redis, as an ACL file has them. */
  readonly redisUsers?: readonly string[]
  /** Changes to the configuration, block by block. */
  readonly overrides?: ConfigInput
  /** The built program for the replicas (`dist/main.mjs`). Default: this checkout's, built now. */
  readonly program?: string | undefined
  /** Options of Node for the replicas. */
  readonly nodeArgs?: readonly string[] | undefined
  /** Replaces the replicas' kubeconfig, for instance by one that leads through a proxy; resolves with its path. */
  readonly leadKubeconfig?: ((file: string, cluster: Cluster) => Promise<string>) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Stack {
  /** URL of the balancer. */
  readonly url: string
  readonly redis: Redis
  readonly cluster: Cluster
  readonly balancer: Balancer
  readonly replicas: readonly Replica[]
  readonly users: DemoUsers
  /** The file that the replicas run. */
  readonly program: string
  /** The configuration file of the replicas. */
  readonly configFile: string
  /** Whether labs go to nodes of KWOK, which only pretend to run them. */
  readonly labsOnKwok: boolean
  /** Ends all parts, the cluster last. */
  stop(): Promise<void>
}

/** Installs programs and packages for a stack, and meanwhile builds the labs' image on a machine that can have a real node. */
export async function setupStack(choice: ClusterChoice, progress: Progress, signal?: AbortSignal): Promise<Tools> {
  const needs: Need[] = [...clusterNeeds(choice), 'redis', 'balancer', 'kubectl']
  if (!needs.includes('node')) return setup(needs, progress, signal)
  // Compiling uses the processors, and the image mostly the network: in parallel they take less time.
  await setup(['image'], progress, signal)
  const [tools] = await Promise.all([setup(needs, progress, signal), labImage(progress, signal)])
  return tools
}

/** Starts a stack; resolves when every replica is ready. When `signal` or a failure interrupts it, the run ends its parts. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { stateDir, progress, signal } = options
  const [redis, program, cluster] = await Promise.all([
    progress.part('Redis', () => startRedis({ stateDir, users: options.redisUsers, ...(signal && { signal }) })),
    options.program ?? progress.part('program', () => bundle({ dir: join(stateDir, 'program') })),
    startCluster({ ...options, audit: options.audit ?? false }),
  ])
  const labsOnKwok = !cluster.realNode || options.realNode === 'never'
  // The parts of the configuration that rights depend on are known before the stack runs.
  const { overrides } = options
  const rights = {
    ...(overrides?.installation !== undefined && { installation: overrides.installation }),
    ...(overrides?.idle !== undefined && { idle: overrides.idle }),
    lab: stackConfig({ ...nowhere, labsOnKwok, overrides }).lab,
  }
  const [images, granted] = await Promise.all([
    provideImage({ cluster, labsOnKwok, stateDir, progress, signal }),
    progress.part('rights in the cluster', () => grantRights(cluster, signal, rights)),
  ])
  if (cluster.provider === 'yours')
    progress.say('k8s/base/{namespace,rbac,policy}.yaml was applied to the existing cluster, and stays there.')
  const kubeconfig = (await options.leadKubeconfig?.(granted, cluster)) ?? granted
  const users = { ...makeUsers(options.users), ...options.accounts }
  const plan = { redisUrl: redis.programUrl, kubeconfig, images, labsOnKwok, overrides: options.overrides }
  const configFile = await writeConfig(stateDir, stackConfig(plan), users)
  const replicas = await startReplicas(program, configFile, options)
  try {
    const balancer = await progress.part('replicas and balancer', () => startFront(replicas, options))
    const stop = async () => {
      await balancer.stop()
      await Promise.all(replicas.map(replica => replica.stop()))
      await Promise.all([redis.stop(), cluster.stop()])
    }
    return { url: balancer.url, redis, cluster, balancer, replicas, users, program, configFile, labsOnKwok, stop }
  } catch (error) {
    // Otherwise they would be restarted again and again while the run is being closed.
    await Promise.all(replicas.map(replica => replica.stop(0)))
    throw error
  }
}

async function startFront(replicas: readonly Replica[], { stateDir, tools, signal }: StackOptions): Promise<Balancer> {
  const starting = startBalancer({ stateDir, program: tools.program('haproxy'), replicas })
  await Promise.all([starting, ...replicas.map(replica => replica.ready(signal))])
  return starting
}

/** Makes the controller's account the owner of a configuration's installation. */
export const applyRights = (cluster: Cluster, config: Config): Promise<void> =>
  cluster.apply(rightsText(renderRights(config, account.namespace)))

/** Applies an operator's manifests for a configuration; returns the path of a kubeconfig for the replicas' account. */
export async function grantRights(cluster: Cluster, signal?: AbortSignal, config: ConfigInput = {}): Promise<string> {
  for (const file of manifests) await cluster.apply(await readFile(file, 'utf8'))
  await applyRights(cluster, configSchema.parse(config))
  const kubeconfig = await cluster.tokenKubeconfig(account.namespace, account.name)
  await untilPolicy('at work', kubeconfig, signal)
  return kubeconfig
}

function startReplicas(
  program: string,
  configFile: string,
  { replicas, stateDir, nodeArgs, progress }: StackOptions,
): Promise<Replica[]> {
  const say = (words: string) => progress.say(words)
  const names = Array.from({ length: replicas }, (_, index) => `replica-${index + 1}`)
  return Promise.all(names.map(name => Replica.start({ name, program, stateDir, configFile, nodeArgs, say })))
}
