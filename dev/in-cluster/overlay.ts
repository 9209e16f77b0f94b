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
import { redisUsers, tenantsUser } from '../redis/users.ts'
import { type ConfigInput, type DemoUsers, formatUsers, kwokPlacement, makeSealingKey } from '../stack/config.ts'
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
}

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
  const [redisPassword, tenantsPassword] = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')]
  const secrets: Record<string, string> = {
    'sealing.key': makeSealingKey(),
    password: redisPassword,
    'users.acl': `${redisUsers(redisPassword)}${lookerLine(redisPassword)}\n${tenants ? tenantsUser(tenantsPassword) : ''}`,
    'tenants-password': tenantsPassword,
    'tokens.yaml': formatUsers(users),
  }
  for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, name), text, { mode: 0o600 })
  await copyFile(registry.authority, join(folder, 'ca.crt'))
  await cp(certificates.folder, join(folder, 'pki'), { recursive: true })
  await placeLabs(plan, 'real')
  if (tenants) await writeTenants(folder)
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
      ...(tenants ? [{ name: 'skylab-tenants-config', namespace, files: ['skylab.yaml=tenants.yaml'] }] : []),
    ],
    secretGenerator: [
      { name: 'skylab-sealing', namespace, files: ['sealing.key'] },
      { name: 'skylab-redis', namespace, files: ['password', 'users.acl', 'tenants-password'] },
      { name: 'skylab-tokens', namespace, files: ['tokens.yaml'] },
      { name: 'skylab-api-tls', namespace, files: certificateFiles('api') },
      { name: 'skylab-redis-tls', namespace, files: certificateFiles('redis') },
    ],
    patches: [
      ...(tenants ? [{ path: 'tenants-rights.yaml' }] : []),
      ...Object.entries(controllerServiceIps).map(([name, value]) => ({
        target: { kind: 'Service', name },
        patch: JSON.stringify([{ op: 'add', path: '/spec/clusterIP', value }]),
      })),
    ],
  }
  await writeFile(join(folder, 'kustomization.yaml'), stringify(kustomization))
  return { folder, redisPassword }
}

/** That of tenants comes first: the others patch its Deployment too. */
const componentsOf = ({ tenants }: OverlayPlan) => [...(tenants ? ['tenants'] : []), 'api-tls', 'redis-tls', 'ca']

/** The configuration of the controller of tenants, and the rights that follow from it. */
async function writeTenants(folder: string): Promise<void> {
  const config: ConfigInput = {
    run: ['tenants'],
    redis: {
      ...{ url: 'rediss://skylab-tenants@skylab-redis:6379', keyPrefix: 'skylab-tenants' },
      ...{ passwordFile: '/etc/skylab/secrets/redis.password', caFile: '/etc/skylab/redis-tls/ca.crt' },
    },
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
    return { alternatives: [...names, `IP:${controllerServiceIps[service]}`] }
  }
  authority.issue('api', named('skylab'))
  authority.issue('redis', named('skylab-redis'))
  return { folder, authority: authority.ca }
}

const certificateFiles = (name: string) => [`tls.crt=pki/${name}.crt`, `tls.key=pki/${name}.key`, 'ca.crt=pki/ca.crt']

/** Sets the nodes for labs; takes effect when the overlay is applied again. */
export async function placeLabs({ folder, registry, labs }: OverlayPlan, nodes: 'real' | 'kwok'): Promise<void> {
  const config: ConfigInput = parse(await readFile(join(overlay, 'skylab.yaml'), 'utf8'), { version: '1.1' })
  const changed: ConfigInput = {
    ...config,
    api: { ...config.api, tls: { certFile: '/etc/skylab/tls/tls.crt', keyFile: '/etc/skylab/tls/tls.key' } },
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
