/** The component gateway in an overlay: a real API server accepts it, and it can do no more than it must. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { gatewayUser } from '../../../dev/redis/users.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { longestDrainMs } from '../../../src/run/gateway/drain.ts'
import { crossProblems } from '../../../src/settings/checks.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, mountsOf, policiesFor, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
afterAll(() => admin.close())

const passwordFile = '/etc/skylab/secrets/redis.password'
const config = {
  run: ['gateway'],
  redis: { url: 'redis://skylab-gateway@skylab-redis:6379', keyPrefix: 'skylab-apps', passwordFile },
  identity: { provider: 'static', static: { file: '/etc/skylab/secrets/tokens.yaml' } },
  gateway: { publicUrl: 'https://platform.example.org' },
}
const labels = { 'app.kubernetes.io/name': 'skylab-gateway', 'app.kubernetes.io/component': 'gateway' }

const overlayWith = (components: readonly string[]): Promise<Manifest[]> =>
  buildOverlay({
    components,
    more: {
      configMapGenerator: [
        { name: 'skylab-gateway-config', namespace: 'skylab', files: ['skylab.yaml'] },
        { name: 'skylab-ca', namespace: 'skylab', literals: ['ca.crt=…'] },
      ],
    },
    files: { 'skylab.yaml': stringify(config) },
  })

test('the overlay demo with the gateway is accepted, and its pods by the strictest pod security standard', async () => {
  const parsed = configSchema.parse(config)
  expect(crossProblems(parsed)).toEqual([])
  const objects = await overlayWith(['gateway'])
  const answer = await tryOut(textOf(objects))
  expect(answer).toContain('deployment.apps/skylab-gateway serverside-applied (server dry run)')
  expect(answer).toContain('horizontalpodautoscaler.autoscaling/skylab-gateway serverside-applied (server dry run)')
  const deployment = findObject(objects, 'Deployment', 'skylab-gateway')
  expect(mountedFiles(deployment)).toEqual([passwordFile])
  const { metadata, spec } = deployment.spec.template
  expect(secretsOf(spec.volumes)).toEqual(['skylab-redis gateway-password'])
  expect(forms['skylab-redis']).toContain('gateway-password')
  // The kubelet waits for the whole drain, after the 5 s before the signal.
  const drainSeconds = longestDrainMs(parsed.gateway.drainSeconds * 1000) / 1000
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds + 5)
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'try-', labels: metadata.labels } },
    spec: { ...spec, serviceAccountName: 'default' },
  }
  expect((await admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', pod)).body.message).toBeUndefined()
})

test('the account of the gateway has no rights, and its pods no token', async () => {
  const objects = await overlayWith(['gateway'])
  const account = findObject(objects, 'ServiceAccount', 'skylab-gateway')
  const { spec } = findObject(objects, 'Deployment', 'skylab-gateway').spec.template
  expect([account.automountServiceAccountToken, spec.automountServiceAccountToken]).toEqual([false, false])
  const bound = objects.flatMap(({ subjects }) => subjects ?? []).map(({ name }: Manifest) => name)
  expect(bound).not.toContain('skylab-gateway')
})

test('the user of Redis and its keys are those of the component', () => {
  const [, user, prefix] = /^user (\S+) .*?~\{(\S+?)\}:/.exec(gatewayUser())!
  expect([new URL(config.redis.url).username, config.redis.keyPrefix]).toEqual([user, prefix])
})

test('the connections of the gateway are those of ingress and Prometheus inwards, and to apps, Redis and DNS outwards', async () => {
  const objects = await overlayWith(['gateway'])
  const policies = policiesFor(objects, labels)
  expect(policies.map(({ metadata }) => metadata.name).sort()).toEqual(['skylab-gateway', 'skylab-nobody'])
  const { spec } = policies.find(({ metadata }) => metadata.name === 'skylab-gateway')
  const inwards = spec.ingress.map(({ from, ports }: Manifest) => [
    from[0].podSelector.matchLabels['app.kubernetes.io/name'],
    ports.map(({ port }: Manifest) => port),
  ])
  expect(inwards).toEqual([
    ['ingress-nginx', ['http']],
    ['prometheus', ['monitoring']],
  ])
  expect(spec.egress.map(({ to }: Manifest) => to[0].podSelector?.matchLabels ?? 'DNS')).toEqual([
    { app: 'primehub-app' },
    { 'app.kubernetes.io/name': 'redis', 'app.kubernetes.io/component': 'store' },
    'DNS',
  ])
  // As the policy of each app admits them.
  expect(labels).toMatchObject(configSchema.parse({}).apps.gateway.selector)
})

test('components that patch the Deployment give the gateway what they give the controller of labs', async () => {
  const objects = await overlayWith(['gateway', 'ca', 'api-tls', 'redis-tls'])
  await tryOut(textOf(objects))
  const added = ['/etc/skylab/ca', '/etc/skylab/tls', '/etc/skylab/redis-tls']
  expect(mountsOf(objects, 'skylab-gateway')).toEqual(expect.arrayContaining(added))
})

test('the component gateway-login adds the files of the login, and the way to the identity provider alone', async () => {
  const objects = await overlayWith(['gateway', 'gateway-login'])
  await tryOut(textOf(objects))
  const folder = '/etc/skylab/secrets'
  const files = ['gateway.key', 'client.secret', 'ingress-login.secret'].map(name => `${folder}/${name}`)
  expect(mountedFiles(findObject(objects, 'Deployment', 'skylab-gateway'))).toEqual([passwordFile, ...files])
  const { spec } = findObject(objects, 'NetworkPolicy', 'skylab-gateway-login')
  expect(spec.egress.map(({ ports }: Manifest) => ports)).toEqual([[{ port: 443 }]])
  expect(spec.podSelector.matchLabels).toEqual(labels)
  // As those of the controllers.
  const [own, base] = [spec, findObject(objects, 'NetworkPolicy', 'skylab').spec].map(({ egress }: Manifest) =>
    egress[0].to.flatMap(({ ipBlock }: Manifest) => (ipBlock ? [ipBlock] : [])),
  )
  expect(own).toEqual(base)
})

test('the component gateway-hosts leads all hosts below a domain to the gateway, as they came', async () => {
  const objects = await overlayWith(['gateway', 'gateway-hosts'])
  await tryOut(textOf(objects))
  const { metadata, spec } = findObject(objects, 'Ingress', 'skylab-gateway-hosts')
  const [rule, more] = spec.rules
  expect([rule.host, more, spec.tls]).toEqual([
    '*.apps.example.net',
    undefined,
    [{ hosts: [rule.host], secretName: 'skylab-apps-hosts' }],
  ])
  const service = { name: 'skylab-gateway', port: { name: 'http' } }
  expect(rule.http.paths).toEqual([{ path: '/', pathType: 'Prefix', backend: { service } }])
  // As the ingress of the platform's host.
  const text = readFileSync(join(k8sFolder, 'overlays/gafaelfawr/gateway.yaml'), 'utf8')
  expect(metadata.annotations).toEqual((parseAllDocuments(text)[1]!.toJS() as Manifest).template.metadata.annotations)
})

test('behind Gafaelfawr only the login asks who it is, by a secret of its own, and apps are open to the gateway', () => {
  const text = readFileSync(join(k8sFolder, 'overlays/gafaelfawr/gateway.yaml'), 'utf8')
  const [login, apps] = parseAllDocuments(text).map(each => each.toJS() as Manifest)
  expect(login.config).toMatchObject({ scopes: { all: ['exec:notebook'] }, loginRedirect: true })
  expect(login.config.delegate).toEqual({ internal: { service: 'skylab-gateway', scopes: [] } })
  expect(apps.config).toEqual({ scopes: { anonymous: true }, service: 'skylab-gateway' })
  const pathsOf = ({ template }: Manifest) =>
    template.spec.rules[0].http.paths.map(({ path, pathType }: Manifest) => `${pathType} ${path}`)
  expect([login, apps].map(pathsOf)).toEqual([['Exact /console/login'], ['Prefix /console']])
  const snippet = 'nginx.ingress.kubernetes.io/configuration-snippet'
  expect([login, apps].map(({ template }) => template.metadata.annotations[snippet])).toEqual([
    'proxy_set_header X-Skylab-Ingress-Secret "";',
    undefined,
  ])
})

test('the gateway is asked about at the monitoring port alone, and loses no replica before another is ready', async () => {
  const objects = await overlayWith(['gateway'])
  const container = containerOf(objects, 'skylab-gateway')
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    expect(container[probe].httpGet.port, probe).toBe('monitoring')
  const { strategy } = findObject(objects, 'Deployment', 'skylab-gateway').spec
  expect(strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
  const { spec } = findObject(objects, 'PodDisruptionBudget', 'skylab-gateway')
  expect(spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: labels } })
})
