import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configSchema } from '../../src/config/schema.ts'
import { crossProblems } from '../../src/settings/checks.ts'
import { makeUsers } from '../stack/config.ts'
import { gatewayTokens } from './apps.ts'
import { dispatchTokens } from './dispatch.ts'
import { makeCertificates, type OverlayPlan, placeLabs, writeOverlay } from './overlay.ts'

const digest = `sha256:${'a'.repeat(64)}`
const reference = (name: string) => `127.0.0.1:5000/skylab/${name}@${digest}`

let plan: OverlayPlan
let made: string
let certificates: OverlayPlan['certificates']
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'overlay-pki-'))
  certificates = await makeCertificates(join(made, 'pki'))
}, 60_000)
afterAll(() => rmSync(made, { recursive: true }))

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'overlay-'))
  const authority = join(parent, 'authority')
  writeFileSync(authority, 'PEM')
  plan = {
    folder: join(parent, 'overlay'),
    images: { controller: reference('controller'), redis: reference('redis-server'), coredns: reference('coredns') },
    registry: { address: '10.244.0.1:5001', authority },
    labs: { docker: { repository: 'some/lab' }, recommendedTag: 'recommended' },
    users: makeUsers(3),
    certificates,
    tenants: false,
  }
})
afterEach(() => rmSync(parent, { recursive: true }))

const text = (name: string) => readFileSync(join(plan.folder, name), 'utf8')

test('writeOverlay builds on the overlay demo, with the images of this run by digest', async () => {
  await writeOverlay(plan)
  const { resources, components, images } = parse(text('kustomization.yaml'))
  expect(existsSync(resolve(plan.folder, resources[0], 'kustomization.yaml'))).toBe(true)
  for (const each of components) expect(existsSync(resolve(plan.folder, each, 'kustomization.yaml'))).toBe(true)
  expect(images).toEqual([
    { name: 'skylab', newName: '127.0.0.1:5000/skylab/controller', digest },
    { name: 'docker.io/library/redis', newName: '127.0.0.1:5000/skylab/redis-server', digest },
  ])
})

test('writeOverlay makes new secrets that only this user can read', async () => {
  const { redisPassword } = await writeOverlay(plan)
  expect(text('password')).toBe(redisPassword)
  expect(text('users.acl')).toMatch(
    new RegExp(`^user default off ~\\* &\\* \\+@all\nuser skylab reset on >${redisPassword} ~\\{skylab\\}:\\* `),
  )
  expect(Buffer.from(text('sealing.key'), 'base64')).toHaveLength(32)
  expect(text('tokens.yaml')).toContain(plan.users.ada!.token)
  for (const name of ['password', 'users.acl', 'sealing.key', 'tokens.yaml']) {
    expect(statSync(join(plan.folder, name)).mode & 0o777).toBe(0o600)
  }
})

test("writeOverlay keeps the overlay's configuration except for the registry and nodes of labs", async () => {
  await writeOverlay(plan)
  const config = () => configSchema.parse(parse(text('skylab.yaml'), { version: '1.1' }))
  expect(config()).toMatchObject({
    identity: { provider: 'static' },
    api: { tls: { certFile: '/etc/skylab/tls/tls.crt' } },
    redis: { url: 'rediss://skylab@skylab-redis:6379', caFile: '/etc/skylab/redis-tls/ca.crt' },
    images: { registry: '10.244.0.1:5001', docker: { repository: 'some/lab' } },
    lab: { nodeSelector: {}, tolerations: [] },
  })
  await placeLabs(plan, 'kwok')
  expect(config().lab).toMatchObject({ nodeSelector: { type: 'kwok' } })
  expect(config().redis.passwordFile).toBe('/etc/skylab/secrets/redis.password')
})

test('writeOverlay adds tenants with a user of Redis of their own, before the components that patch their Deployment', async () => {
  await writeOverlay({ ...plan, tenants: true })
  const { components, configMapGenerator, secretGenerator } = parse(text('kustomization.yaml'))
  expect(components.map((each: string) => each.split('/').at(-1))).toEqual(['tenants', 'api-tls', 'redis-tls', 'ca'])
  expect(configMapGenerator).toContainEqual(expect.objectContaining({ files: ['skylab.yaml=tenants.yaml'] }))
  const config = configSchema.parse(parse(text('tenants.yaml'), { version: '1.1' }))
  expect(config).toMatchObject({ run: ['tenants'], redis: { keyPrefix: 'skylab-tenants' } })
  const { files } = secretGenerator.find(({ name }: { name: string }) => name === 'skylab-redis')
  expect(files).toContain('tenants-password')
  expect(text('tenants-password')).not.toBe(text('password'))
  expect(text('users.acl')).toContain(
    `\nuser skylab-tenants reset on >${text('tenants-password')} ~{skylab-tenants}:* `,
  )
})

test('writeOverlay leaves tenants out when nobody asks for them', async () => {
  await writeOverlay(plan)
  expect(text('kustomization.yaml')).not.toContain('components/tenants')
  expect(text('users.acl')).not.toContain('skylab-tenants')
  expect(existsSync(join(plan.folder, 'tenants.yaml'))).toBe(false)
})

test('writeOverlay adds apps and gateways with two users of Redis and one prefix, and gives gateways the tokens', async () => {
  await writeOverlay({ ...plan, apps: true })
  const { components, patches } = parse(text('kustomization.yaml'))
  const names = components.map((each: string) => each.split('/').at(-1))
  expect(names).toEqual(['apps', 'gateway', 'api-tls', 'redis-tls', 'ca'])
  const config = (name: string) => configSchema.parse(parse(text(`${name}.yaml`), { version: '1.1' }))
  const [apps, gateway] = [config('apps'), config('gateway')]
  for (const each of [apps, gateway]) expect(crossProblems(each)).toEqual([])
  expect(apps.redis).toMatchObject({ url: 'rediss://skylab-apps@skylab-redis:6379', keyPrefix: 'skylab-apps' })
  expect(gateway.redis).toMatchObject({ url: 'rediss://skylab-gateway@skylab-redis:6379', keyPrefix: 'skylab-apps' })
  expect(gateway.gateway.publicUrl).toBe(apps.apps.publicUrl)
  expect(gateway.api.tls).toMatchObject({ certFile: '/etc/skylab/tls/tls.crt' })
  for (const name of ['apps', 'gateway'])
    expect(text('users.acl')).toContain(`\nuser skylab-${name} reset on >${text(`${name}-password`)} `)
  expect(patches).toContainEqual(gatewayTokens)
})

test('writeOverlay adds dispatch with a cloud, secrets and a user of Redis of its own, and gives it the tokens', async () => {
  const parameters = {
    ...{ Region: 'us-east-1', SubnetID: ['subnet-0123456789abcdef0'], SecurityGroupIDs: ['sg-0123456789abcdef0'] },
    ...{ Endpoint: 'https://10.244.0.1', AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'example' },
  }
  await writeOverlay({ ...plan, dispatch: { parameters, initCommand: 'ip route add 10.244.0.0/24 via 198.18.0.1' } })
  const { components, patches, secretGenerator } = parse(text('kustomization.yaml'))
  expect(components.map((each: string) => each.split('/').at(-1))).toEqual(['dispatch', 'api-tls', 'redis-tls', 'ca'])
  const config = configSchema.parse(parse(text('dispatch.yaml'), { version: '1.1' }))
  expect(crossProblems(config)).toEqual([])
  expect(config.redis).toMatchObject({
    url: 'rediss://skylab-dispatch@skylab-redis:6379',
    keyPrefix: 'skylab-dispatch',
  })
  expect(config.api.tls).toMatchObject({ certFile: '/etc/skylab/tls/tls.crt' })
  expect(text('users.acl')).toContain(`\nuser skylab-dispatch reset on >${text('dispatch-password')} `)
  const { files } = secretGenerator.find(({ name }: { name: string }) => name === 'skylab-dispatch')
  const secrets: string[] = files.map((file: string) => file.split('=')[1]!)
  for (const name of secrets) expect(statSync(join(plan.folder, name)).mode & 0o777, name).toBe(0o600)
  // It cannot open plans of labs.
  expect(text('dispatch-sealing.key')).not.toBe(text('sealing.key'))
  const named = text('dispatch.yaml').match(/(?<=\/etc\/skylab\/secrets\/)[\w.]+/g)!
  const mounted = [...files.map((file: string) => file.split('=')[0]!), 'redis.password', 'tokens.yaml']
  expect(mounted.sort()).toEqual([...new Set(named)].sort())
  expect(patches).toContainEqual(dispatchTokens)
})

test('makeCertificates puts names and addresses of the Services into certificates of one authority', async () => {
  await writeOverlay(plan)
  const { secretGenerator, patches } = parse(text('kustomization.yaml'))
  for (const [secret, service] of [
    ['skylab-api-tls', 'skylab'],
    ['skylab-api-tls', 'skylab-gateway'],
    ['skylab-api-tls', 'skylab-dispatch'],
    ['skylab-redis-tls', 'skylab-redis'],
  ]) {
    const { files } = secretGenerator.find(({ name }: { name: string }) => name === secret)
    const [certFile, keyFile] = files.map((file: string) => join(plan.folder, file.split('=')[1]!))
    const certificate = new X509Certificate(readFileSync(certFile))
    expect(certificate.verify(new X509Certificate(certificates.authority).publicKey)).toBe(true)
    expect(certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile)))).toBe(true)
    expect(certificate.checkHost(`${service}.skylab.svc.cluster.local`)).toBeDefined()
    const of = patches.filter(
      ({ target }: { target?: { kind: string; name: string } }) =>
        target?.kind === 'Service' && target.name === service,
    )
    expect(certificate.checkIP(JSON.parse(of[0].patch)[0].value)).toBeDefined()
  }
})
