/** A cluster with the component tenants, and processes that serve tenants with REST: all that people need. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { definitionOf } from '../../src/billing/postgres/statements.ts'
import { formatTokens } from '../../src/identity/tokens.ts'
import { tenantsAccount } from '../../src/tenants/settings.ts'
import { startBox } from '../cluster/box-cluster.ts'
import type { Cluster } from '../cluster/types.ts'
import { bundle } from '../image/bundle.ts'
import { tenantsManifests } from '../kube/tenants.ts'
import { type Postgres, startPostgres } from '../postgres/postgres.ts'
import type { Progress } from '../process/progress.ts'
import { startRedis } from '../redis/redis.ts'
import { setup, type Tools } from '../setup/setup.ts'
import type { ConfigInput } from '../stack/config.ts'
import { Replica } from '../stack/replicas.ts'
import { makePeople, makeTokens, type Name, type Person } from './people.ts'

const namespace = 'skylab'
const keyPrefix = 'skylab-tenants'
export const billTable = 'tenant_billing'

export interface TenantSite {
  readonly cluster: Cluster
  readonly people: Readonly<Record<Name, Person>>
  readonly replicas: readonly Replica[]
  /** The database of bills. */
  readonly postgres: Postgres
  /** REST of one replica: any of them answers anything. */
  readonly url: string
}

export interface TenantSiteOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly replicas: number
  readonly tools: Tools
  readonly progress: Progress
  /** More for blocks of the configuration. */
  readonly overrides?: Pick<ConfigInput, 'api' | 'tenants'>
  readonly signal?: AbortSignal | undefined
}

export const setupTenants = (progress: Progress, signal?: AbortSignal): Promise<Tools> =>
  setup(['cluster', 'kubectl', 'redis', 'postgres'], progress, signal)

/** Starts all parts; resolves when every replica is ready. When `signal` or a failure interrupts it, the run ends its parts. */
export async function startTenants(options: TenantSiteOptions): Promise<TenantSite> {
  const { stateDir, tools, progress, overrides = {}, signal } = options
  const tokens = makeTokens()
  const box = { stateDir, tools, progress, signal, realNode: 'never', kwok: 0, audit: false, people: tokens } as const
  const statements = definitionOf('public', billTable, 'skylab')
  const [redis, postgres, program, cluster] = await Promise.all([
    progress.part('Redis', () => startRedis({ stateDir, keyPrefix, ...(signal && { signal }) })),
    progress.part('PostgreSQL', () => startPostgres({ stateDir, statements, ...(signal && { signal }) })),
    progress.part('program', () => bundle({ dir: join(stateDir, 'program') })),
    startBox(box),
  ])
  await progress.part('k8s/components/tenants', async () => {
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }))
    await cluster.apply(await tenantsManifests())
  })
  const config: ConfigInput = {
    run: ['tenants'],
    api: { host: '127.0.0.1', ...overrides.api },
    redis: { url: redis.programUrl, keyPrefix },
    kubernetes: { kubeconfig: await cluster.tokenKubeconfig(namespace, tenantsAccount), namespace },
    identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    // The people of REST have the same names in the cluster.
    tenants: {
      rest: { usernameTemplate: '{username}' },
      billing: await billingOf(postgres, stateDir),
      ...overrides.tenants,
    },
  }
  const configFile = join(stateDir, 'skylab.yaml')
  await writeFile(configFile, stringify(config, { version: '1.1' }), { mode: 0o600 })
  await writeFile(join(stateDir, 'tokens.yaml'), formatTokens(tokensOf(tokens)), { mode: 0o600 })
  const people = await makePeople({ cluster, tokens, tools, stateDir, signal })
  const replicas = await progress.part('replicas that serve tenants', async () => {
    const started = Array.from({ length: options.replicas }, (_, i) =>
      Replica.start({ stateDir, configFile, name: `tenants-${i + 1}`, program, say: progress.say }),
    )
    const all = await Promise.all(started)
    await Promise.all(all.map(replica => replica.ready(signal)))
    return all
  })
  return { cluster, people, replicas, postgres, url: replicas[0]!.url }
}

/** The payer where an LNamespace names none, and the way to the database: on this machine, so without TLS. */
export async function billingOf({ host, port, database, user }: Postgres, stateDir: string) {
  const passwordFile = join(stateDir, 'billing.password')
  await writeFile(passwordFile, user, { mode: 0o600 })
  return {
    driver: 'postgres' as const,
    defaults: [{ billing: { 'cost-center': '4711' } }],
    postgres: { host, port, database, user, passwordFile, tls: 'disable' as const },
  }
}

const tokensOf = (tokens: Readonly<Record<string, string>>) => ({
  tokens: Object.entries(tokens).map(([username, token]) => ({ username, token, scopes: ['exec:notebook'] })),
})
