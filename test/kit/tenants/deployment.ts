/** The Deployment of tenants on a site: processes with its account, replaced as by `Recreate`. */

import { startRedis } from '../../../dev/redis/redis.ts'
import { writeConfig } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
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

export interface DeploymentOptions {
  readonly installation: string
  readonly release: Release
  readonly replicas?: number
}

export class TenantsDeployment {
  readonly #site: TenantsSite
  readonly #configFile: string
  readonly #count: number
  #replicas: readonly Replica[] = []

  private constructor(site: TenantsSite, configFile: string, count: number) {
    this.#site = site
    this.#configFile = configFile
    this.#count = count
  }

  static async start(
    site: TenantsSite,
    { installation, release, replicas = 2 }: DeploymentOptions,
  ): Promise<TenantsDeployment> {
    const { stateDir, cluster } = site
    const redis = await startRedis({ stateDir })
    const kubeconfig = await cluster.tokenKubeconfig(namespace, tenantsAccount)
    const config = {
      run: ['tenants' as const],
      installation,
      api: { host: '127.0.0.1' },
      redis: { url: redis.programUrl },
      kubernetes: { kubeconfig, namespace },
      tenants: { ...siteTenants, policyIntervalSeconds: 1, unlimitedRequesters: ['admin'] },
    }
    const deployment = new TenantsDeployment(site, await writeConfig(stateDir, config, {}), replicas)
    await deployment.roll(release)
    return deployment
  }

  /** Stops all processes, then starts as many of a release; resolves when these are ready. */
  async roll(release: Release): Promise<void> {
    await this.stop()
    const { stateDir } = this.#site
    const names = Array.from({ length: this.#count }, (_, index) => `tenants-${index + 1}`)
    const start = (name: string) => Replica.start({ ...release, stateDir, configFile: this.#configFile, name })
    this.#replicas = await Promise.all(names.map(start))
    await Promise.all(this.#replicas.map(replica => replica.ready()))
  }

  /** Resolves when each process has looked at so many tenants and sudoers, and has nothing left to do. */
  async looked(tenants: number, sudoers: number): Promise<void> {
    const isDone = async (replica: Replica) => {
      const text = await (await fetch(`${replica.monitoringUrl}/metrics`)).text()
      const sum = (name: string, kind: string) => {
        const lines = text.split('\n').filter(line => line.startsWith(`${name}{`) && line.includes(`kind="${kind}"`))
        return lines.reduce((all, line) => all + Number(line.split(' ').at(-1)), 0)
      }
      const [turns, depth] = ['skylab_reconcile_turns_total', 'skylab_reconcile_queue_depth'] as const
      const isIdle = sum(depth, 'tenant') + sum(depth, 'sudoer') === 0
      return sum(turns, 'tenant') >= tenants && sum(turns, 'sudoer') >= sudoers && isIdle
    }
    for (const replica of this.#replicas) await eventually('the looks', () => isDone(replica))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica.stop()))
    this.#replicas = []
  }
}
