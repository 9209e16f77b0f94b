/** A new cluster with the component of tenants, and replicas as their Deployment has them: their account, all policies. */
import { join } from 'node:path'
import { Redis as RedisClient } from 'ioredis'
import { startBox } from '../../dev/cluster/box-cluster.ts'
import type { Cluster } from '../../dev/cluster/types.ts'
import { bundle } from '../../dev/image/bundle.ts'
import { readRecord } from '../../dev/process/process.ts'
import { startRedis } from '../../dev/redis/redis.ts'
import { openRun } from '../../dev/run/run.ts'
import { writeConfig } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import { configSchema } from '../../src/config/schema.ts'
import { type SharedSettings, tenantsAccount } from '../../src/tenants/settings.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import type { BenchContext } from '../measure/bench-stack.ts'
import { applyTenants } from '../measure/tenant-policies.ts'
import { cpuSeconds } from '../measure/usage.ts'
import { type Crowd, platforms } from './people.ts'

const namespace = 'skylab'
/** The administrator asks for all tenants. */
const requester = 'admin'

export interface SiteOptions extends BenchContext, Crowd {
  /** Whether tenants have quota, limits and a NetworkPolicy. */
  readonly platform: boolean
  /** Options of Node for the replicas. */
  readonly nodeArgs: readonly string[]
}

export interface Site {
  readonly options: SiteOptions
  readonly cluster: Cluster
  readonly auditLog: string
  /** As the administrator, and as the account of the replicas. */
  readonly kube: AdminKube
  readonly account: AdminKube
  readonly redis: RedisClient
  readonly settings: SharedSettings & { readonly labPrefix: string }
  /** Starts replicas; resolves when they are ready. */
  start(count: number): Promise<readonly Replica[]>
  /** Processor time of the API server since its start, in seconds. */
  serverSeconds(): number
}

/** Starts a site for this work alone, and takes it down afterwards. */
export async function withSite<T>(options: SiteOptions, work: (site: Site) => Promise<T>): Promise<T> {
  const { tools, progress, signal } = options
  const run = await openRun(progress)
  const replicas: Replica[] = []
  const closers: (() => void)[] = []
  try {
    const { stateDir } = run
    const quiet = { ...progress, part: <R>(_: string, start: () => Promise<R>) => start() }
    const [cluster, redis, program] = await Promise.all([
      startBox({ stateDir, tools, progress: quiet, realNode: 'never', kwok: 0, audit: true, signal }),
      startRedis({ stateDir, signal }),
      bundle({ dir: join(stateDir, 'program') }),
    ])
    const kube = new AdminKube(cluster.kubeconfig)
    const redisClient = new RedisClient(redis.url)
    closers.push(
      () => kube.close(),
      () => redisClient.disconnect(),
    )
    const platform = options.platform ? platforms.with : platforms.without
    const tenants = { unlimitedRequesters: [requester], platform }
    const { installation, lab, ...config } = configSchema.parse({ tenants })
    await (await applyTenants(cluster, kube, config.tenants, signal))()
    const kubeconfig = await cluster.tokenKubeconfig(namespace, tenantsAccount)
    const account = new AdminKube(kubeconfig)
    closers.push(() => account.close())
    const plan = { run: ['tenants' as const], api: { host: '127.0.0.1' }, redis: { url: redis.programUrl }, tenants }
    const configFile = await writeConfig(stateDir, { ...plan, kubernetes: { kubeconfig, namespace } }, {})
    const { nodeArgs } = options
    const start = async (name: string) => {
      const say = (words: string) => progress.say(`  ${words}`)
      const replica = await Replica.start({ stateDir, configFile, name, program, nodeArgs, say })
      replicas.push(replica)
      await replica.ready(signal)
      return replica
    }
    return await work({
      ...{ options, cluster, auditLog: cluster.auditLog!, kube, account, redis: redisClient },
      settings: { installation, labPrefix: lab.namespacePrefix, ownNamespace: namespace, tenants: config.tenants },
      start: count => Promise.all(Array.from({ length: count }, (_, index) => start(`replica-${index + 1}`))),
      serverSeconds: () => cpuSeconds(readRecord(cluster.stateDir, 'kube-apiserver')!.pid),
    })
  } finally {
    for (const close of closers) close()
    await Promise.all(replicas.map(replica => replica.stop(0)))
    await run.close()
  }
}
