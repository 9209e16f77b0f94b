/** All that people need for apps: a cluster, controllers, two gateways behind a balancer with TLS, an OpenID provider, and Redis. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { appsAccount } from '../../src/apps/probe.ts'
import { gatewayAclLine } from '../../src/store/rights.ts'
import { gatewayClient, gatewaySecret } from '../../test/kit/identity/login-issuer.ts'
import { TestAuthority } from '../../test/kit/tls/authority.ts'
import type { Cluster } from '../cluster/types.ts'
import { bundle } from '../image/bundle.ts'
import { appsManifests } from '../kube/apps.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { freePort } from '../process/ports.ts'
import { startRedis } from '../redis/redis.ts'
import { type ConfigInput, makeSealingKey } from '../stack/config.ts'
import { startBalancer } from '../stack/haproxy.ts'
import { Replica } from '../stack/replicas.ts'
import { type AppsClusterOptions, groupVolume, provideGroup, provideImages, startAppsCluster } from './cluster.ts'
import { group, groupNamespace, makePasswords, type Name, names } from './people.ts'
import { audience, DemoProvider, type Passwords } from './provider.ts'

const namespace = 'skylab'
const keyPrefix = 'skylab-apps'
const gatewayCount = 2
/** The age at which the provider is asked again about a login: the default is a minute, which is long to watch. */
const recheckSeconds = 5
/** Browsers know names below `localhost` without DNS. */
const host = 'platform.localhost'

export interface Person {
  /** At the provider. */
  readonly password: string
  /** For REST. */
  readonly token: string
  /** Path of a file with the token. */
  readonly tokenFile: string
}

export interface AppsSite {
  readonly cluster: Cluster
  /** As the administrator. */
  readonly kubectl: Kubectl
  readonly people: Readonly<Record<Name, Person>>
  readonly provider: DemoProvider
  readonly controllers: readonly Replica[]
  readonly gateways: readonly Replica[]
  /** The platform's address, for browsers. */
  readonly url: string
  /** The address of REST, for programs. */
  readonly rest: string
  /** The certificate of its authority. */
  readonly authority: { readonly file: string; readonly pem: string }
}

export interface AppsSiteOptions extends AppsClusterOptions {
  /** Number of controllers. */
  readonly replicas: number
}

/** Starts all parts; resolves when every replica is ready. When `signal` or a failure interrupts it, the run ends its processes. */
export async function startApps(options: AppsSiteOptions): Promise<AppsSite> {
  const { stateDir, prepared, progress, signal } = options
  const users = [gatewayAclLine({ name: 'gateway', password: '>gateway', keyPrefix })]
  const [redis, program, cluster] = await Promise.all([
    progress.part('Redis', () => startRedis({ stateDir, keyPrefix, users, signal })),
    progress.part('program', () => bundle({ dir: join(stateDir, 'program') })),
    startAppsCluster(options),
  ])
  const kubectl = createKubectl(prepared.tools, cluster.kubeconfig, cluster.stateDir)
  await Promise.all([
    progress.part('images of apps into the registry', () => provideImages(cluster, kubectl, options)),
    progress.part('k8s/components/apps', () => installApps(cluster, stateDir)),
  ])
  const port = await freePort()
  const url = `https://${host}:${port}`
  const passwords = makePasswords()
  const provider = await progress.part('OpenID provider', () => DemoProvider.start(url, passwords))
  try {
    const kubeconfig = await cluster.tokenKubeconfig(namespace, appsAccount)
    const processes = { redisPort: redis.port, program, kubeconfig, url, provider }
    const replicas = await progress.part('controllers and gateways', () => startProcesses(options, processes))
    const authority = await progress.part('balancer with TLS', () => startFront(options, port, replicas.gateways))
    const rest = await progress.part('balancer of REST', () => startRest(options, replicas.controllers))
    const people = await withTokens(stateDir, passwords, provider)
    return { cluster, kubectl, people, provider, ...replicas, url, rest, authority }
  } catch (error) {
    await provider.stop()
    throw error
  }
}

async function withTokens(stateDir: string, passwords: Passwords, provider: DemoProvider): Promise<AppsSite['people']> {
  const person = async (name: Name): Promise<readonly [Name, Person]> => {
    const [token, tokenFile] = [await provider.token(name), join(stateDir, `${name}.token`)]
    await writeFile(tokenFile, token, { mode: 0o600 })
    return [name, { password: passwords[name], token, tokenFile }]
  }
  return Object.fromEntries(await Promise.all(names.map(person))) as AppsSite['people']
}

async function installApps(cluster: Cluster, stateDir: string): Promise<void> {
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }))
  await provideGroup(cluster, stateDir)
  await cluster.apply(await appsManifests())
  // The rights to templates hold in this namespace alone.
  const binding = {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
    metadata: { name: 'skylab-apps-templates', namespace: groupNamespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skylab:apps:templates' },
    subjects: [{ kind: 'ServiceAccount', name: appsAccount, namespace }],
  }
  await cluster.apply(JSON.stringify(binding))
}

interface Processes {
  readonly redisPort: number
  readonly program: string
  /** Of the controllers' account. */
  readonly kubeconfig: string
  readonly url: string
  readonly provider: DemoProvider
}

async function startProcesses(
  options: AppsSiteOptions,
  { redisPort, program, kubeconfig, url, provider }: Processes,
): Promise<Pick<AppsSite, 'controllers' | 'gateways'>> {
  const secretly = (name: string, text: string) => writeFile(join(options.stateDir, name), text, { mode: 0o600 })
  await Promise.all([secretly('gateway.key', makeSealingKey()), secretly('client.secret', `${gatewaySecret}\n`)])
  const identity = identityOf(provider)
  const redisAs = (user: string) => ({ url: `redis://${user}:${user}@127.0.0.1:${redisPort}`, keyPrefix })
  const ofApps = { ...controllerConfig(url, kubeconfig), identity, redis: redisAs('program') }
  const ofGateway = { ...gatewayConfig(url), identity, redis: redisAs('gateway') }
  const [controllers, gateways] = await Promise.all([
    startReplicas(options, { name: 'apps', config: ofApps, count: options.replicas, program }),
    startReplicas(options, { name: 'gateway', config: ofGateway, count: gatewayCount, program }),
  ])
  return { controllers, gateways }
}

/** Starts the balancer; resolves with the authority that signed its certificate. */
async function startFront(
  { stateDir, prepared }: AppsSiteOptions,
  port: number,
  gateways: readonly Replica[],
): Promise<AppsSite['authority']> {
  const folder = join(stateDir, 'public-pki')
  await mkdir(folder, { mode: 0o700 })
  const authority = new TestAuthority(folder)
  const certificate = await certificateOf(authority)
  const program = prepared.tools.program('haproxy')
  await startBalancer({ stateDir, program, port, certificate, replicas: gateways })
  return { file: authority.caFile, pem: authority.ca }
}

/** One address before all controllers; resolves with it. */
async function startRest({ stateDir, prepared }: AppsSiteOptions, replicas: readonly Replica[]): Promise<string> {
  const program = prepared.tools.program('haproxy')
  return (await startBalancer({ stateDir, program, replicas, name: 'rest' })).url
}

const identityOf = (provider: DemoProvider): ConfigInput['identity'] => ({
  provider: 'oidc',
  oidc: { issuer: provider.url, audience, claims: { username: 'preferred_username' } },
})

function controllerConfig(publicUrl: string, kubeconfig: string): ConfigInput {
  return {
    ...{ run: ['apps'], api: { host: '127.0.0.1' }, kubernetes: { kubeconfig, namespace } },
    apps: {
      publicUrl,
      groups: { [group]: { namespace: groupNamespace, volume: groupVolume } },
      instanceTypes: { small: { limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: 0.1, memory: '256Mi' } } },
      rest: { templateNamespace: groupNamespace },
    },
  }
}

function gatewayConfig(publicUrl: string): ConfigInput {
  return {
    ...{ run: ['gateway'], api: { host: '127.0.0.1' } },
    gateway: {
      ...{ publicUrl, login: 'oidc', recheckSeconds, keyFiles: ['gateway.key'], trustedProxies: ['127.0.0.1/32'] },
      oidc: { clientId: gatewayClient, clientSecretFile: 'client.secret', scopes: ['openid', 'exec:notebook'] },
    },
  }
}

interface ReplicasPlan {
  readonly name: string
  readonly config: ConfigInput
  readonly count: number
  readonly program: string
}

async function startReplicas(
  { stateDir, progress, signal }: AppsSiteOptions,
  { name, config, count, program }: ReplicasPlan,
): Promise<readonly Replica[]> {
  const configFile = join(stateDir, `${name}.yaml`)
  await writeFile(configFile, stringify(config, { version: '1.1' }), { mode: 0o600 })
  const names = Array.from({ length: count }, (_, i) => `${name}-${i + 1}`)
  const start = (each: string) =>
    Replica.start({ stateDir, configFile, name: each, program, say: words => progress.say(words) })
  const replicas = await Promise.all(names.map(start))
  await Promise.all(replicas.map(replica => replica.ready(signal)))
  return replicas
}

/** The path of a PEM with certificate and key, as haproxy reads it. */
async function certificateOf(authority: TestAuthority): Promise<string> {
  const { certFile, cert, key } = authority.issue(host, { alternatives: [`DNS:${host}`, 'IP:127.0.0.1'] })
  const file = certFile.replace(/crt$/, 'pem')
  await writeFile(file, `${cert}${key}`, { mode: 0o600 })
  return file
}
