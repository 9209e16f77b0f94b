/** The wing of apps beside labs: a controller and a gateway, each with its own user of the labs' Redis and a login by token. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { appsAccount } from '../../src/apps/probe.ts'
import type { Cluster } from '../cluster/types.ts'
import { freePort } from '../process/ports.ts'
import { appsUser, gatewayUser } from '../redis/users.ts'
import { type ConfigInput, type DemoUsers, writeConfig } from '../stack/config.ts'
import { Replica, type ReplicaOptions } from '../stack/replicas.ts'

const namespace = 'skylab'
const keyPrefix = 'skylab-apps'
const users = { controller: 'skylab-apps', gateway: 'skylab-gateway' } as const

/** The lines of their users, for an ACL file. */
export const appsUsersBeside: readonly string[] = [appsUser(users.controller).trim(), gatewayUser(users.gateway).trim()]

export interface AppsBesideOptions extends Pick<ReplicaOptions, 'program' | 'restart' | 'say'> {
  /** The folder of the stack. */
  readonly stateDir: string
  /** With the objects of `k8s/components/apps`. */
  readonly cluster: Pick<Cluster, 'tokenKubeconfig'>
  /** Of Redis, as any user. It must have those of {@link appsUsersBeside}. */
  readonly redisUrl: string
  /** Who may log in at the gateway, and call REST. */
  readonly users: DemoUsers
  /** More for the controller's configuration. */
  readonly config?: Pick<ConfigInput, 'idle' | 'tenants'>
  readonly rest?: boolean
}

export interface AppsBeside {
  readonly controller: Replica
  readonly gateway: Replica
}

/** Starts both; they may not be ready yet. Their run ends them. */
export async function startAppsBeside(options: AppsBesideOptions): Promise<AppsBeside> {
  const { stateDir, cluster, redisUrl, users: people, config = {}, rest = false } = options
  const { program, restart, say } = options
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const kubeconfig = await cluster.tokenKubeconfig(namespace, appsAccount)
  const common = (user: string): ConfigInput => ({
    api: { host: '127.0.0.1' },
    redis: { url: Object.assign(new URL(redisUrl), { username: user, password: user }).href, keyPrefix },
    identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    ...(config.tenants && { tenants: config.tenants }),
  })
  const start = async (name: string, more: ConfigInput, at: Pick<ReplicaOptions, 'port'> = {}) => {
    const folder = join(stateDir, name)
    mkdirSync(folder)
    const configFile = await writeConfig(folder, more, people)
    return Replica.start({ name, stateDir, configFile, program, restart, say, ...at })
  }
  const apps = { publicUrl, ...(rest && { rest: {} }) }
  const kubernetes = { kubeconfig, namespace }
  const [controller, gateway] = await Promise.all([
    start('apps', { ...common(users.controller), run: ['apps'], kubernetes, apps, ...config }),
    start('gateway', { ...common(users.gateway), run: ['gateway'], gateway: { publicUrl } }, { port }),
  ])
  return { controller, gateway }
}
