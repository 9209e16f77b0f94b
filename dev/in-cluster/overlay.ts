/** This run's additions to the overlay `demo` of k8s/: images, secrets, and the registry and nodes of labs. */
import { randomBytes } from 'node:crypto'
import { copyFile, cp, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { parse, stringify } from 'yaml'
import { rightsText } from '../../src/cli/rights.ts'
import { configSchema } from '../../src/config/schema.ts'
import { renderRights } from '../../src/labs/rights.ts'
import { renderTenantRights } from '../../src/tenants/settings.ts'
import { TestAuthority } from '../../test/kit/tls/authority.ts'
import { controllerServiceIps } from '../kube/credentials.ts'
import { k8sFolder } from '../kube/kustomize.ts'
import { appsUser, dispatchUser, gatewayUser, notebooksUser, redisUsers, tenantsUser } from '../redis/users.ts'
import { type ConfigInput, type DemoUsers, formatUsers, kwokPlacement, makeSealingKey } from '../stack/config.ts'
import { appsConfig, gatewayConfig, gatewayTokens } from './apps.ts'
import type { PodCloud } from './cloud.ts'
import { dispatchConfig, dispatchSecrets, dispatchTokens } from './dispatch.ts'
import type { ImageReferences } from './images.ts'
import type { PodRegistry } from './registry.ts'

const overlay = join(k8sFolder, 'overlays', 'demo')
const namespace = 'skylab'

export interface OverlayPlan {
  /** A new folder. */
  readonly folder: string
  readonly images: ImageReferences
  readonly registry: PodRegistry
  /** Repository and tag of the labs' image. */
  readonly labs: Pick<NonNullable<ConfigInput['images']>, 'docker' | 'recommendedTag'>
  readonly users: DemoUsers
  readonly certificates: Certificates
  /** Whether the component tenants is installed too. */
  readonly tenants: boolean
  /** Whether the component notebooks is. Default: no. */
  readonly notebooks?: boolean
  /** Whether the components apps and gateway are. Default: no. */
  readonly apps?: boolean
  /** The cloud of the component dispatch. Default: it is not installed. */
  readonly dispatch?: Pick<PodCloud, 'parameters' | 'initCommand'> | undefined
}

/** Components with a controller, a Redis user and a configuration of their own. */
const wings = ['tenants', 'notebooks', 'apps', 'gateway', 'dispatch'] as const
type Wing = (typeof wings)[number]
const redisUserOf: Readonly<Record<Wing, (password: string) => string>> = {
  tenants: tenantsUser,
  notebooks: notebooksUser,
  apps: appsUser,
  gateway: gatewayUser,
  dispatch: dispatchUser,
}

const wingsOf = (plan: OverlayPlan) => wings.filter(wing => plan[wing === 'gateway' ? 'apps' : wing])

/** Certificates of the API and of Redis, for their names and addresses in the cluster. */
export interface Certificates {
  readonly folder: string
  /** PEM of the authority of both certificates. */
  readonly authority: string
}

export interface Overlay {
  /** Folder for `kubectl kustomize`. */
  readonly folder: string
  readonly redisPassword: string
}

/** The Redis user with which the demo checks, at the end, that a lab has left no keys. */
const lookerLine = (password: string) => `user looker on >${password} ~* +@all`

/** Writes a kustomization over the overlay, with new secrets. */
export async function writeOverlay(plan: OverlayPlan): Promise<Overlay> {
  const { folder, images, registry, users, certificates, tenants } = plan
  await mkdir(folder, { mode: 0o700 })
  const redisPassword = makePassword()
  const installed = wingsOf(plan)
  const passwords = installed.map(wing => [wing, makePassword()] as const)
  const wingUsers = passwords.map(([wing, password]) => redisUserOf[wing](password))
  const secrets: Record<string, string> = {
    'sealing.key': makeSealingKey(),
    password: redisPassword,
    'users.acl': `${redisUsers(redisPassword)}${lookerLine(redisPassword)}\n${wingUsers.join('')}`,
    ...Object.fromEntries(passwords.map(([wing, password]) => [passwordOf(wing), password])),
    'tokens.yaml': formatUsers(users),
  }
  for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, name), text, { mode: 0o600 })
  await copyFile(registry.authority, join(folder, 'ca.crt'))
  await cp(certificates.folder, join(folder, 'pki'), { recursive: true })
  await placeLabs(plan, 'real')
  for (const wing of installed) await writeWing[wing](plan)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    // kustomize refuses absolute paths.
    resources: [await pathFrom(folder, overlay), 'rights.yaml'],
    components: await Promise.all(componentsOf(plan).map(name => pathFrom(folder, component(name)))),
    images: [image('skylab', images.controller), image('docker.io/library/redis', images.redis)],
    configMapGenerator: [
      { name: 'skylab-config', namespace, behavior: 'replace', files: ['skylab.yaml'] },
      { name: 'skylab-ca', namespace, files: ['ca.crt'] },
      ...installed.map(wing => ({ name: `skylab-${wing}-config`, namespace, files: [`skylab.yaml=${wing}.yaml`] })),
    ],
    secretGenerator: [
      { name: 'skylab-sealing', namespace, files: ['sealing.key'] },
      { name: 'skylab-redis', namespace, files: ['password', 'users.acl', ...installed.map(passwordOf)] },
      { name: 'skylab-tokens', namespace, files: ['tokens.yaml'] },
      { name: 'skylab-api-tls', namespace, files: certificateFiles('api') },
      { name: 'skylab-redis-tls', namespace, files: certificateFiles('redis') },
      ...(plan.dispatch ? [{ name: 'skylab-dispatch', namespace, files: await writeDispatchSecrets(folder) }] : []),
    ],
    patches: [
      ...(tenants ? [{ path: 'tenants-rights.yaml' }] : []),
      ...(plan.apps ? [gatewayTokens] : []),
      ...(plan.dispatch ? [dispatchTokens] : []),
      ...Object.entries(controllerServiceIps).map(([name, value]) => ({
        target: { kind: 'Service', name },
        patch: JSON.stringify([{ op: 'add', path: '/spec/clusterIP', value }]),
      })),
    ],
  }
  await writeFile(join(folder, 'kustomization.yaml'), stringify(kustomization))
  return { folder, redisPassword }
}

/** Those with a Deployment come first: the others patch it too. */
const componentsOf = (plan: OverlayPlan) => [...wingsOf(plan), 'api-tls', 'redis-tls', 'ca']

const makePassword = () => randomBytes(24).toString('hex')
/** Name of its file, and key of the Secret. */
const passwordOf = (wing: Wing) => `${wing}-password`

/** As a user of its own, by TLS. Gateways read what the controller of apps writes. */
const redisOf = (wing: Wing): ConfigInput['redis'] => ({
  ...{ url: `rediss://skylab-${wing}@skylab-redis:6379`, keyPrefix: `skylab-${wing === 'gateway' ? 'apps' : wing}` },
  ...{ passwordFile: '/etc/skylab/secrets/redis.password', caFile: '/etc/skylab/redis-tls/ca.crt' },
})

const writeWing: Readonly<Record<Wing, (plan: OverlayPlan) => Promise<void>>> = {
  tenants: ({ folder }) => writeTenants(folder),
  notebooks: ({ folder }) => writeNotebooks(folder),
  apps: ({ folder }) => writeConfig(folder, 'apps', appsConfig()),
  gateway: ({ folder }) => writeConfig(folder, 'gateway', { ...gatewayConfig(), api: { tls: apiTls } }),
  dispatch: ({ folder, dispatch }) =>
    writeConfig(folder, 'dispatch', { ...dispatchConfig(dispatch!), api: { tls: apiTls } }),
}

/** @returns keys of the Secret with their files, in kustomize's form */
async function writeDispatchSecrets(folder: string): Promise<string[]> {
  const secrets = Object.entries(dispatchSecrets())
  for (const [name, text] of secrets) await writeFile(join(folder, `dispatch-${name}`), text, { mode: 0o600 })
  return secrets.map(([name]) => `${name}=dispatch-${name}`)
}

/** A configuration with the wing's way to Redis. */
const writeConfig = (folder: string, wing: Wing, config: ConfigInput): Promise<void> =>
  writeFile(join(folder, `${wing}.yaml`), stringify({ ...config, redis: redisOf(wing) }, { version: '1.1' }))

async function writeNotebooks(folder: string): Promise<void> {
  const rule = { name: 'demo', idleTimeoutSeconds: 60, warnSeconds: 0 }
  await writeConfig(folder, 'notebooks', { run: ['notebooks'], idle: { enabled: true, rules: [rule] } })
}

/** The configuration of the controller of tenants, and the rights that follow from it. */
async function writeTenants(folder: string): Promise<void> {
  const config: ConfigInput = {
    ...{ run: ['tenants'], redis: redisOf('tenants') },
    tenants: { platform: { quota: { pods: 50 } } },
  }
  const settings = { ...configSchema.parse(config), ownNamespace: namespace }
  await writeFile(join(folder, 'tenants.yaml'), stringify(config, { version: '1.1' }))
  await writeFile(join(folder, 'tenants-rights.yaml'), rightsText(renderTenantRights(settings)))
}

const pathFrom = async (folder: string, to: string) => relative(await realpath(folder), await realpath(to))
const component = (name: string) => join(k8sFolder, 'components', name)

/** Makes certificates in a new folder. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  await mkdir(folder, { mode: 0o700 })
  const authority = new TestAuthority(folder)
  const named = (service: keyof typeof controllerServiceIps) => {
    const names = ['', '.skylab', '.skylab.svc', '.skylab.svc.cluster.local'].map(suffix => `DNS:${service}${suffix}`)
    return [...names, `IP:${controllerServiceIps[service]}`]
  }
  // The component api-tls has one certificate for all.
  authority.issue('api', {
    alternatives: [...named('skylab'), ...named('skylab-gateway'), ...named('skylab-dispatch')],
  })
  authority.issue('redis', { alternatives: named('skylab-redis') })
  return { folder, authority: authority.ca }
}

/** Where the component api-tls has it. */
const apiTls = { certFile: '/etc/skylab/tls/tls.crt', keyFile: '/etc/skylab/tls/tls.key' }

const certificateFiles = (name: string) => [`tls.crt=pki/${name}.crt`, `tls.key=pki/${name}.key`, 'ca.crt=pki/ca.crt']

/** Sets the nodes for labs; takes effect when the overlay is applied again. */
export async function placeLabs({ folder, registry, labs }: OverlayPlan, nodes: 'real' | 'kwok'): Promise<void> {
  const config: ConfigInput = parse(await readFile(join(overlay, 'skylab.yaml'), 'utf8'), { version: '1.1' })
  const changed: ConfigInput = {
    ...config,
    api: { ...config.api, tls: apiTls },
    redis: { ...config.redis, url: 'rediss://skylab@skylab-redis:6379', caFile: '/etc/skylab/redis-tls/ca.crt' },
    images: { registry: registry.address, ...labs },
    lab: { ...config.lab, ...(nodes === 'kwok' ? kwokPlacement : {}) },
  }
  await writeFile(join(folder, 'skylab.yaml'), stringify(changed, { version: '1.1' }))
  await writeFile(join(folder, 'rights.yaml'), rightsText(renderRights(configSchema.parse(changed), namespace)))
}

/** An image in kustomize's form: its name in the manifests, and its replacement. */
function image(name: string, reference: string): object {
  const [newName, digest] = reference.split('@')
  return { name, newName, digest }
}
