/** The overlay `gafaelfawr` with apps and the gateway: a real API server accepts it, and each path has the one ingress that it must. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { crossProblems } from '../../../src/settings/checks.ts'
import { defineGafaelfawr } from '../../kit/cluster/gafaelfawr-crd.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { type Manifest, mountedFiles, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, findObject, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const secrets = '/etc/skylab/secrets'
const redis = { url: 'redis://skylab-apps@skylab-redis:6379', passwordFile: `${secrets}/redis.password` }
const gafaelfawr = {
  baseUrl: 'https://skylab.example.org',
  userSecretFiles: [`${secrets}/ingress-user.secret`],
  adminSecretFiles: [`${secrets}/ingress-admin.secret`],
}
const publicUrl = 'https://skylab.example.org'
const apps = {
  ...{ run: ['apps'], redis: { ...redis, keyPrefix: 'skylab-apps' }, identity: { provider: 'gafaelfawr', gafaelfawr } },
  apps: { publicUrl, groups: { physics: { namespace: 'physics' } }, rest: {} },
}

/** As the overlay itself has it for labs. */
const ingressSecrets = {
  name: 'skylab-ingress',
  items: [
    { key: 'user', path: 'ingress-user.secret' },
    { key: 'admin', path: 'ingress-admin.secret' },
  ],
}
const patches = [
  {
    target: { kind: 'Deployment', name: 'skylab-apps' },
    patch: JSON.stringify([
      {
        ...{ op: 'add', path: '/spec/template/spec/volumes/1/projected/sources/-' },
        value: { secret: ingressSecrets },
      },
    ]),
  },
]
const configMaps = ['apps', 'gateway'].map(name => ({
  ...{ name: `skylab-${name}-config`, namespace: 'skylab', files: [`skylab.yaml=${name}-config.yaml`] },
}))
const ingressFiles = ['apps.yaml', 'gateway.yaml']
const textOfFile = (name: string) => readFileSync(join(k8sFolder, 'overlays/gafaelfawr', name), 'utf8')

const admin = new AdminKube(testBed().kubeconfig)
let objects: readonly Manifest[]
beforeAll(async () => {
  await defineGafaelfawr(admin)
  objects = await buildOverlay({
    ...{ base: 'gafaelfawr', resources: ingressFiles, components: ['apps', 'gateway'] },
    more: { configMapGenerator: configMaps, patches },
    files: {
      ...Object.fromEntries(ingressFiles.map(name => [name, textOfFile(name)])),
      ...{ 'apps-config.yaml': stringify(apps), 'gateway-config.yaml': '{}' },
    },
  })
})
afterAll(() => admin.close())

test('the overlay gafaelfawr with apps and the gateway is accepted, with a configuration of apps whose files exist', async () => {
  const answer = await tryOut(textOf(objects))
  expect(answer.trim().split('\n')).toHaveLength(objects.length)
  for (const name of ['skylab-apps-user', 'skylab-apps-admin', 'skylab-gateway', 'skylab-gateway-login'])
    expect(answer).toContain(`gafaelfawringress.gafaelfawr.lsst.io/${name} serverside-applied (server dry run)`)
  expect(crossProblems(configSchema.parse(apps))).toEqual([])
  const named = stringify(apps).match(/\/etc\/skylab\/[\w./-]+/g)
  expect(mountedFiles(findObject(objects, 'Deployment', 'skylab-apps'))).toEqual(expect.arrayContaining(named!))
})

/** Every path of every ingress, with what it leads to and what is asked of its caller. */
const ways = (): Manifest[] =>
  objects
    .filter(({ kind }) => kind === 'GafaelfawrIngress' || kind === 'Ingress')
    .flatMap(({ kind, config, template, spec }) =>
      (template ?? { spec }).spec.rules.flatMap(({ host, http }: Manifest) =>
        http.paths.map((path: Manifest) => ({ ...path, host, asked: kind === 'Ingress' ? undefined : config })),
      ),
    )

/** By `Prefix`, as all paths here are that do not belong to labs. */
const waysTo = (path: string) =>
  ways().filter(each => each.pathType === 'Prefix' && `${path}/`.startsWith(`${each.path.replace(/\/$/, '')}/`))

describe('each path has one ingress', () => {
  test.each([
    ['/apps/v1/apps', 'exec:notebook', true],
    ['/apps/v1/apps/mlflow/start', 'exec:notebook', true],
    ['/apps/v1/apps/mlflow/events', 'exec:notebook', true],
    ['/apps/v1/openapi.json', 'exec:notebook', true],
    ['/apps/admin/v1/apps/mlflow', 'admin:jupyterlab', false],
    ['/apps/admin/v1/sessions', 'admin:jupyterlab', false],
  ])('%s, for %s, with a delegated token: %s', (path, scope, isDelegated) => {
    const [way, ...others] = waysTo(path)
    expect(others).toEqual([])
    expect(way.backend.service).toEqual({ name: 'skylab-apps', port: { name: 'http' } })
    expect(way.asked.scopes).toEqual({ all: [scope] })
    expect(way.asked.delegate).toEqual(isDelegated ? { notebook: {} } : undefined)
  })

  test.each(['/console/apps/mlflow/', '/console/start/mlflow'])('%s, for everybody', path => {
    const found = waysTo(path)
    expect(found).toMatchObject([{ backend: { service: { name: 'skylab-gateway', port: { name: 'http' } } } }])
    expect(found[0].asked.scopes).toEqual({ anonymous: true })
  })

  test('/console/login alone asks who it is', () => {
    const [way, ...others] = ways().filter(({ pathType, path }) => pathType === 'Exact' && path === '/console/login')
    expect(others).toEqual([])
    expect(way.asked).toMatchObject({ scopes: { all: ['exec:notebook'] }, loginRedirect: true })
  })

  test.each(['/apps', '/apps/admin', '/healthz', '/readyz', '/metrics', '/console-x'])('%s has none', path => {
    expect(waysTo(path)).toEqual([])
  })
})

test('all ingresses of apps have the host of the labs, and Services that exist with a port of that name', () => {
  const hosts = new Set(ways().map(({ host }) => host))
  expect([...hosts]).toEqual([new URL(publicUrl).host])
  for (const { backend } of ways()) {
    const { ports } = findObject(objects, 'Service', backend.service.name).spec
    expect(ports).toContainEqual(expect.objectContaining(backend.service.port))
  }
})

test('the ingress of the gateway buffers nothing and bounds no body, as docs/gateway.md has it', () => {
  const page = readFileSync(new URL('../../../docs/gateway.md', import.meta.url), 'utf8')
  const { annotations } = findObject(objects, 'GafaelfawrIngress', 'skylab-gateway').template.metadata
  const named = Object.entries(annotations).map(([key, value]) => `${key.split('/')[1]}: "${value}"`)
  expect(named).toHaveLength(5)
  for (const words of named) expect(page).toContain(words)
})
