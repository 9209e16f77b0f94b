/** The wing of tenants beside labs: a controller of tenants with its own user of the labs' Redis. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { tenantsAccount } from '../../src/tenants/settings.ts'
import type { Cluster } from '../cluster/types.ts'
import { tenantsUser } from '../redis/users.ts'
import { type ConfigInput, type DemoUsers, writeConfig } from '../stack/config.ts'
import { Replica, type ReplicaOptions } from '../stack/replicas.ts'

const namespace = 'skylab'
const name = 'skylab-tenants'

/** The prefix of its keys, of which a process for containers reads one. */
export const tenantsKeyPrefix = name

/** The line of its user, for an ACL file. */
export const tenantsUserBeside = tenantsUser(name).trim()

export interface TenantsBesideOptions extends Pick<ReplicaOptions, 'program' | 'restart' | 'say'> {
  /** The folder of the stack. */
  readonly stateDir: string
  /** With the objects of `k8s/components/tenants`. */
  readonly cluster: Pick<Cluster, 'tokenKubeconfig'>
  /** Of Redis, as any user. It must have that of {@link tenantsUserBeside}. */
  readonly redisUrl: string
  /** Callers of REST. Without any, nobody calls it. */
  readonly users?: DemoUsers
  readonly tenants?: ConfigInput['tenants']
}

/** Starts the process; it may not be ready yet. Its run ends it. */
export async function startTenantsBeside(options: TenantsBesideOptions): Promise<Replica> {
  const { stateDir, cluster, redisUrl, users = {}, tenants, ...others } = options
  const folder = join(stateDir, 'tenants')
  mkdirSync(folder)
  const config: ConfigInput = {
    run: ['tenants'],
    api: { host: '127.0.0.1' },
    redis: { url: Object.assign(new URL(redisUrl), { username: name, password: name }).href, keyPrefix: name },
    kubernetes: { kubeconfig: await cluster.tokenKubeconfig(namespace, tenantsAccount), namespace },
    ...(Object.keys(users).length > 0 && { identity: { provider: 'static', static: { file: 'tokens.yaml' } } }),
    ...(tenants && { tenants }),
  }
  const configFile = await writeConfig(folder, config, users)
  return Replica.start({ ...others, name: 'tenants', stateDir, configFile })
}
