/** A new cluster with the component of apps and nodes of KWOK, and replicas as their Deployment has them. */
import { join } from 'node:path'
import { Redis as RedisClient } from 'ioredis'
import { startBox } from '../../dev/cluster/box-cluster.ts'
import type { Cluster } from '../../dev/cluster/types.ts'
import { bundle } from '../../dev/image/bundle.ts'
import { appsObjects } from '../../dev/kube/apps.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import { startRedis } from '../../dev/redis/redis.ts'
import { openRun } from '../../dev/run/run.ts'
import { writeConfig } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import type { AppSettings } from '../../src/apps/groups.ts'
import { appProbe, appsAccount } from '../../src/apps/probe.ts'
import { groupMark } from '../../src/apps/words.ts'
import { apps as schema } from '../../src/config/apps.ts'
import { configSchema } from '../../src/config/schema.ts'
import { creationPath } from '../../src/kube/kinds.ts'
import { kwokType } from '../../test/kit/apps/objects.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import { addGatewayUser, startReplica } from '../../test/kit/gateway/process.ts'
import type { BenchContext } from '../measure/bench-stack.ts'
import { applyObjects } from '../measure/tenant-policies.ts'

const namespace = 'skylab'
const defaultPrefix = configSchema.shape.redis.parse({ url: 'redis://localhost' }).keyPrefix
/** The group of all apps, and its namespace. */
export const group = 'crowd'
const given = {
  ...{ groups: { [group]: { namespace: group } }, instanceTypes: { small: kwokType } },
  publicUrl: 'https://platform.example.org',
}

export interface SiteOptions extends BenchContext {
  /** More options of Node for replicas. Default: none */
  readonly nodeArgs?: readonly string[]
}

export interface Site {
  readonly options: BenchContext
  readonly cluster: Cluster
  readonly auditLog: string
  /** As the administrator, and as the account of the replicas. */
  readonly kube: AdminKube
  readonly account: AdminKube
  readonly redis: RedisClient
  readonly settings: AppSettings
  /** Starts replicas; resolves when they are ready. */
  start(count: number): Promise<readonly Replica[]>
  /** Starts gateways at the same Redis, without anybody who could log in. @returns their addresses, such as `http://127.0.0.1:1` */
  startGateways(count: number): Promise<readonly string[]>
}

/** Starts a site for this work alone, and takes it down afterwards. */
export async function withSite<T>(options: SiteOptions, work: (site: Site) => Promise<T>): Promise<T> {
  const { tools, progress, signal, nodeArgs = [] } = options
  const run = await openRun(progress)
  const replicas: Replica[] = []
  const closers: (() => void)[] = []
  try {
    const { stateDir } = run
    const quiet = { ...progress, part: <R>(_: string, start: () => Promise<R>) => start() }
    const [cluster, redis, program] = await Promise.all([
      startBox({ stateDir, tools, progress: quiet, realNode: 'never', kwok: 4, audit: true, signal }),
      startRedis({ stateDir, signal }),
      bundle({ dir: join(stateDir, 'program') }),
    ])
    const [kube, redisClient] = [new AdminKube(cluster.kubeconfig), new RedisClient(redis.url)]
    const space = (name: string, labels = {}) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
    await applyObjects(cluster, [space(namespace), space(group, groupMark), ...(await appsObjects())])
    const kubeconfig = await cluster.tokenKubeconfig(namespace, appsAccount)
    const account = new AdminKube(kubeconfig)
    closers.push(
      () => kube.close(),
      () => account.close(),
      () => redisClient.disconnect(),
    )
    await untilEnforced(account, signal)
    const plan = { run: ['apps' as const], api: { host: '127.0.0.1' }, redis: { url: redis.programUrl }, apps: given }
    const configFile = await writeConfig(stateDir, { ...plan, kubernetes: { kubeconfig, namespace } }, {})
    const start = async (name: string) => {
      const say = (words: string) => progress.say(`  ${words}`)
      const replica = await Replica.start({ stateDir, configFile, name, program, say, nodeArgs })
      replicas.push(replica)
      await replica.ready(signal)
      return replica
    }
    return await work({
      ...{ options, cluster, auditLog: cluster.auditLog!, kube, account, redis: redisClient },
      settings: { apps: schema.parse(given), ownNamespace: namespace, installation: 'skylab' },
      start: count => Promise.all(Array.from({ length: count }, (_, index) => start(`replica-${index + 1}`))),
      startGateways: async count => {
        await addGatewayUser(redis, defaultPrefix)
        const startOne = async (index: number) => {
          const { replica, origin } = await startReplica({ stateDir, redis, name: `gateway-${index + 1}` })
          replicas.push(replica)
          await replica.ready(signal)
          return origin
        }
        return Promise.all(Array.from({ length: count }, (_, index) => startOne(index)))
      },
    })
  } finally {
    for (const close of closers) close()
    await Promise.all(replicas.map(replica => replica.stop(0)))
    await run.close()
  }
}

function untilEnforced(account: AdminKube, signal: AbortSignal): Promise<void> {
  const probe = appProbe(namespace)
  const path = `${creationPath(probe.apiVersion, probe.kind, namespace)}?dryRun=All`
  const isRefused = async () => (await account.request('POST', path, probe)).body.message?.includes('denied request')
  return waitUntil(async () => (await isRefused()) ?? false, { what: 'the policy', limitMs: 30_000, signal })
}
