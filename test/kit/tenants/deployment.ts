/** The Deployment of tenants on a site: processes with its account, replaced as by `Recreate`. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import { type ConfigInput, writeConfig } from '../../../dev/stack/config.ts'
import { Replica, type ReplicaOptions } from '../../../dev/stack/replicas.ts'
import { tenantsAccount } from '../../../src/tenants/settings.ts'
import { eventually } from '../cluster/world.ts'
import { siteTenants } from './objects.ts'
import type { TenantsSite } from './site.ts'

const namespace = 'skylab'

/** What the processes run. */
export interface Release {
  readonly program: string
  readonly nodeArgs?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface ProcessConfig {
  readonly installation: string
  /** Of the account. */
  readonly kubeconfig: string
  readonly redis: ConfigInput['redis']
  /** More for the block `tenants`. */
  readonly tenants?: ConfigInput['tenants']
}

/** The configuration of a process that serves tenants in tests. */
export const tenantsConfig = ({ installation, kubeconfig, redis, tenants }: ProcessConfig): ConfigInput => ({
  ...{ run: ['tenants'], installation, api: { host: '127.0.0.1' }, redis },
  kubernetes: { kubeconfig, namespace },
  tenants: { policyIntervalSeconds: 1, unlimitedRequesters: ['admin'], ...tenants },
})

export interface DeploymentOptions extends Pick<ProcessConfig, 'installation' | 'tenants'> {
  readonly release: Release
  readonly replicas?: number
  /** Whether the start waits until they are ready. Default: yes. */
  readonly untilReady?: boolean
}

export class TenantsDeployment {
  readonly #base: Pick<ReplicaOptions, 'stateDir' | 'configFile'>
  readonly #names: readonly string[]
  readonly #redis: Redis
  #replicas: readonly Replica[] = []

  private constructor(base: Pick<ReplicaOptions, 'stateDir' | 'configFile'>, names: readonly string[], redis: Redis) {
    this.#base = base
    this.#names = names
    this.#redis = redis
  }

  static async start(
    site: Pick<TenantsSite, 'stateDir' | 'cluster'>,
    {
      installation,
      release,
      replicas = 2,
      untilReady = true,
      tenants = { labelPrefixes: siteTenants.labelPrefixes },
    }: DeploymentOptions,
  ): Promise<TenantsDeployment> {
    const stateDir = join(site.stateDir, installation)
    mkdirSync(stateDir)
    const redis = await startRedis({ stateDir })
    const kubeconfig = await site.cluster.tokenKubeconfig(namespace, tenantsAccount)
    const redisConfig = { url: redis.programUrl }
    const config = tenantsConfig({ installation, kubeconfig, redis: redisConfig, tenants })
    const configFile = await writeConfig(stateDir, config, {})
    const names = Array.from({ length: replicas }, (_, index) => `${installation}-${index + 1}`)
    const deployment = new TenantsDeployment({ stateDir, configFile }, names, redis)
    await deployment.#start(release)
    if (untilReady) await deployment.ready()
    return deployment
  }

  /** Stops all processes, then starts as many of a release; resolves when these are ready. */
  async roll(release: Release): Promise<void> {
    await this.#end()
    await this.#start(release)
    await this.ready()
  }

  async ready(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica.ready()))
  }

  /** What `/readyz` of each process says. */
  readiness(): Promise<readonly string[]> {
    return Promise.all(this.#replicas.map(async ({ monitoringUrl }) => (await fetch(`${monitoringUrl}/readyz`)).text()))
  }

  /** Writes of all its processes since their start, as they count them. */
  async writes(): Promise<number> {
    const sums = await Promise.all(this.#replicas.map(replica => sumOf(replica, 'skylab_reconcile_writes_total')))
    return sums.reduce((all, sum) => all + sum, 0)
  }

  async #start(release: Release): Promise<void> {
    const start = (name: string) => Replica.start({ ...release, ...this.#base, name })
    this.#replicas = await Promise.all(this.#names.map(start))
  }

  /** Resolves when each process has looked at so many tenants and sudoers, and has nothing left to do. */
  async looked(tenants: number, sudoers: number): Promise<void> {
    const isDone = async (replica: Replica) => {
      const [turns, depth] = ['skylab_reconcile_turns_total', 'skylab_reconcile_queue_depth'] as const
      const [ofTenants, ofSudoers, waiting] = await Promise.all([
        sumOf(replica, turns, 'tenant'),
        sumOf(replica, turns, 'sudoer'),
        sumOf(replica, depth),
      ])
      return ofTenants >= tenants && ofSudoers >= sudoers && waiting === 0
    }
    for (const replica of this.#replicas) await eventually('the looks', () => isDone(replica))
  }

  async stop(): Promise<void> {
    await this.#end()
    await this.#redis.stop()
  }

  async #end(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica.stop()))
    this.#replicas = []
  }
}

/** The sum of a metric, of one kind or all. */
async function sumOf({ monitoringUrl }: Replica, name: string, kind = ''): Promise<number> {
  const text = await (await fetch(`${monitoringUrl}/metrics`)).text()
  const lines = text.split('\n').filter(line => line.startsWith(`${name}{`) && line.includes(`kind="${kind}`))
  return lines.reduce((all, line) => all + Number(line.split(' ').at(-1)), 0)
}
