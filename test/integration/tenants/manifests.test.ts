/** The component tenants in an overlay, alone and with the components that patch its Deployment too: a real API server accepts it. */
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { tenantsUser } from '../../../dev/redis/users.ts'
import { rightsText } from '../../../src/cli/rights.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { configWarnings, crossProblems } from '../../../src/settings/checks.ts'
import { renderTenantRights } from '../../../src/tenants/settings.ts'
import { buildDemoOverlay, demoReference } from '../../kit/cluster/demo-overlay.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, mountsOf, policiesFor, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const { kubeconfig } = testBed()
const admin = new AdminKube(kubeconfig)
afterAll(() => admin.close())

const passwordFile = '/etc/skylab/secrets/redis.password'
const redis = { url: 'redis://skylab-tenants@skylab-redis:6379', keyPrefix: 'skylab-tenants', passwordFile }
const config = { run: ['tenants'], redis, tenants: { reserved: ['team-*'], labelPrefixes: ['team.example.org/'] } }
const rights = renderTenantRights({ ...configSchema.parse(config), ownNamespace: 'skylab' })

/** The objects of an operator's overlay over `demo`, with these components in their order. */
const overlayWith = (
  components: readonly string[],
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): Promise<Manifest[]> =>
  buildOverlay({
    components,
    more: {
      configMapGenerator: [
        { name: 'skylab-tenants-config', namespace: 'skylab', files: ['skylab.yaml'] },
        { name: 'skylab-ca', namespace: 'skylab', literals: ['ca.crt=…'] },
      ],
      ...more,
    },
    files: { 'tenants-rights.yaml': rightsText(rights), 'skylab.yaml': stringify(config), ...files },
  })

const byRights = { patches: [{ path: 'tenants-rights.yaml' }] }

test('the overlay demo with tenants is accepted, and its pods by the strictest pod security standard', async () => {
  expect(crossProblems(configSchema.parse(config))).toEqual([])
  const objects = await overlayWith(['tenants'], byRights)
  const answer = await tryOut(textOf(objects))
  expect(answer).toContain('deployment.apps/skylab-tenants serverside-applied (server dry run)')
  expect(answer).toContain('customresourcedefinition.apiextensions.k8s.io/lnamespaces.gial.lblw.dev serverside-applied')
  expect(rights.map(({ kind, metadata }) => findObject(objects, kind, metadata.name))).toEqual(rights)
  const deployment = findObject(objects, 'Deployment', 'skylab-tenants')
  // Not the key that seals plans of labs, and another password than that of labs.
  expect(mountedFiles(deployment)).toEqual([passwordFile])
  const { metadata, spec } = deployment.spec.template
  expect(secretsOf(spec.volumes)).toEqual(['skylab-redis tenants-password'])
  expect(forms['skylab-redis']).toContain('tenants-password')
  expect(spec.volumes[0].configMap.name).toMatch(/^skylab-tenants-config-[a-z0-9]{10}$/)
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'try-', labels: metadata.labels } },
    spec: { ...spec, serviceAccountName: 'default' },
  }
  expect((await admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', pod)).body.message).toBeUndefined()
})

describe('components that patch the Deployment', () => {
  const patching = ['ca', 'api-tls', 'redis-tls']
  const added = ['/etc/skylab/ca', '/etc/skylab/tls', '/etc/skylab/redis-tls']
  const authority = { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/skylab/ca/ca.crt' }

  test('give the controller of tenants what they give that of labs when they come after the component tenants', async () => {
    const objects = await overlayWith(['tenants', ...patching], byRights)
    await tryOut(textOf(objects))
    for (const name of ['skylab', 'skylab-tenants']) {
      expect(mountsOf(objects, name), name).toEqual(expect.arrayContaining(added))
      expect(containerOf(objects, name).env, name).toEqual([authority])
      expect(findObject(objects, 'Service', name).spec.ports[0], name).toMatchObject({
        name: 'http',
        appProtocol: 'https',
      })
    }
    const volumes: Manifest[] = findObject(objects, 'Deployment', 'skylab-tenants').spec.template.spec.volumes
    expect(volumes.map(({ name }) => name).sort()).toEqual(['api-tls', 'ca', 'config', 'redis-tls', 'secrets'])
    expect(volumes.find(({ configMap }) => configMap?.name.startsWith('skylab-ca'))?.configMap.name).toMatch(
      /^skylab-ca-[a-z0-9]{10}$/,
    )
  })

  test('do without the component tenants', async () => {
    const objects = await overlayWith(patching)
    await tryOut(textOf(objects))
    expect(mountsOf(objects, 'skylab')).toEqual(expect.arrayContaining(added))
    expect(findObject(objects, 'Deployment', 'skylab-tenants')).toBeUndefined()
  })

  test('leave the controller of tenants as it is when they come first, as the pages say', async () => {
    const objects = await overlayWith([...patching, 'tenants'], byRights)
    expect(mountsOf(objects, 'skylab-tenants').filter(path => added.includes(path))).toEqual([])
  })
})

test('the component tenants-billing adds the files of the database of bills, and the way to it alone', async () => {
  const objects = await overlayWith(['tenants', 'tenants-billing'], byRights)
  await tryOut(textOf(objects))
  const files = ['billing.password', 'billing.ca', 'bigquery.json'].map(name => `/etc/skylab/secrets/${name}`)
  expect(mountedFiles(findObject(objects, 'Deployment', 'skylab-tenants'))).toEqual([passwordFile, ...files])
  const { spec } = findObject(objects, 'NetworkPolicy', 'skylab-tenants-billing')
  expect(spec.egress.map(({ ports }: Manifest) => ports)).toEqual([[{ port: 5432 }, { port: 443 }]])
  const { labels } = findObject(objects, 'Deployment', 'skylab-tenants').spec.template.metadata
  expect(labels).toMatchObject(spec.podSelector.matchLabels)
  // As those of the controllers.
  const [own, base] = [spec, findObject(objects, 'NetworkPolicy', 'skylab').spec].map(({ egress }: Manifest) =>
    egress[0].to.flatMap(({ ipBlock }: Manifest) => (ipBlock ? [ipBlock] : [])),
  )
  expect(own).toEqual(base)
})

describe('the component second', () => {
  const isOfCluster = ({ kind, metadata }: Manifest) => metadata.namespace === undefined && kind !== 'Namespace'

  test('leaves out all objects of tenants that the cluster has once', async () => {
    const [without, objects] = [await overlayWith(['second']), await overlayWith(['tenants', 'second'])]
    await tryOut(textOf(objects))
    const names = (all: Manifest[]) => all.filter(isOfCluster).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(names(objects)).toEqual(names(without))
    expect(findObject(objects, 'Deployment', 'skylab-tenants')).toBeDefined()
    expect(names(await overlayWith(['tenants'])).length).toBeGreaterThan(names(objects).length + 15)
  })

  test('lets no overlay change the rights of the other installation', async () => {
    await expect(overlayWith(['tenants', 'second'], byRights)).rejects.toThrow(/no matches for .*skylab-tenants/)
  })
})

describe('the connections of the controller of tenants', () => {
  const tenants = { 'app.kubernetes.io/name': 'skylab', 'app.kubernetes.io/component': 'tenants' }
  const store = { 'app.kubernetes.io/name': 'redis', 'app.kubernetes.io/component': 'store' }

  test('are those of the ingress and Prometheus inwards, and to no address that serves credentials outwards', async () => {
    const objects = await overlayWith(['tenants'], byRights)
    const { labels } = findObject(objects, 'Deployment', 'skylab-tenants').spec.template.metadata
    expect(labels).toMatchObject(tenants)
    const policies = policiesFor(objects, tenants)
    expect(policies.map(({ metadata }) => metadata.name).sort()).toEqual(['skylab-nobody', 'skylab-tenants'])
    const { spec } = policies.find(({ metadata }) => metadata.name === 'skylab-tenants')
    const ways = spec.ingress.map(({ from, ports }: Manifest) => [
      from[0].podSelector.matchLabels['app.kubernetes.io/name'],
      ports.map(({ port }: Manifest) => port),
    ])
    expect(ways).toEqual([
      ['ingress-nginx', ['http']],
      ['prometheus', ['monitoring']],
    ])
    // The same as those of the controller of labs, whose test tries them (network-policy.node.test.ts).
    expect(spec.egress).toEqual(findObject(objects, 'NetworkPolicy', 'skylab').spec.egress)
  })

  test('reach Redis, which no other pod does', async () => {
    const objects = await overlayWith(['tenants'], byRights)
    const sources = policiesFor(objects, store).flatMap(({ spec }) => spec.ingress ?? [])
    const components = sources.flatMap(({ from }) =>
      from.map(({ podSelector }: Manifest) => podSelector.matchLabels['app.kubernetes.io/component']),
    )
    expect(components.sort()).toEqual(['controller', 'tenants'])
  })

  test('are drained one replica at a time', async () => {
    const objects = await overlayWith(['tenants'], byRights)
    const { spec } = findObject(objects, 'PodDisruptionBudget', 'skylab-tenants')
    expect(spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: tenants } })
  })

  test('are asked about at the monitoring port alone, which no Service has', async () => {
    const objects = await overlayWith(['tenants'], byRights)
    const container = containerOf(objects, 'skylab-tenants')
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container[probe].httpGet.port, probe).toBe('monitoring')
    expect(findObject(objects, 'Service', 'skylab-tenants').spec.ports).toEqual([
      expect.objectContaining({ name: 'http', targetPort: 'http' }),
    ])
  })
})

test('the overlay of the demo in the cluster is accepted with tenants', async () => {
  const { objects } = await buildDemoOverlay({ tenants: true })
  expect(await tryOut(textOf(objects))).toContain('deployment.apps/skylab-tenants serverside-applied')
  const container = containerOf(objects, 'skylab-tenants')
  expect(container.image).toBe(demoReference('controller'))
  expect(mountsOf(objects, 'skylab-tenants')).toEqual(
    expect.arrayContaining(['/etc/skylab/redis-tls', '/etc/skylab/ca']),
  )
  const { volumes } = findObject(objects, 'Deployment', 'skylab-tenants').spec.template.spec
  const names = volumes.map(
    ({ configMap, projected }: Manifest) => configMap?.name ?? projected?.sources[0].secret.name,
  )
  expect(names).toContainEqual(expect.stringMatching(/^skylab-redis-[a-z0-9]{10}$/))
})

test('the commands and the overlay of docs/deploy.md fit together', async () => {
  const page = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf('## Namespaces that people make'), page.indexOf('## A second installation'))
  const [, written] = /cat > tenants\.yaml <<'END'\n([\s\S]+?)\nEND\n/.exec(section)!
  const [, overlay] = /```yaml\n(components:[\s\S]+?)```/.exec(section)!
  const parsed = configSchema.parse(parse(written!))
  expect([crossProblems(parsed), configWarnings(parsed)]).toEqual([
    [],
    [expect.stringMatching(/^lab\.namespacePrefix/)],
  ])
  // The user and the prefix are those of the line that the command adds.
  const [, user, prefix] = /^user (\S+) .* ~\{(\S+)\}:\*/.exec(tenantsUser())!
  expect([new URL(parsed.redis.url).username, parsed.redis.keyPrefix]).toEqual([user, prefix])
  expect(section).toContain('sed "s/PASSWORD/$tenants/" k8s/components/tenants/users.acl')
  const { configMapGenerator, patches } = parse(overlay!)
  const own = renderTenantRights({ ...parsed, ownNamespace: 'skylab' })
  const files = { 'tenants.yaml': written!, 'tenants-rights.yaml': rightsText(own) }
  const objects = await overlayWith(['tenants'], { configMapGenerator, patches }, files)
  await tryOut(textOf(objects))
  expect(findObject(objects, 'ClusterRole', 'skylab-tenants-settings')).toEqual(own[0])
})

test('the component tenants-webhook is accepted, and takes the policy out that older clusters do not know', async () => {
  const objects = await overlayWith(['tenants', 'tenants-webhook'], byRights)
  const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith('cert-manager.io/'))
  expect(objects.length - known.length).toBe(2)
  await tryOut(textOf(known))
  expect(objects.filter(({ kind }) => kind.startsWith('MutatingAdmissionPolicy'))).toEqual([])
  expect(mountsOf(objects, 'skylab-tenants')).toContain('/etc/skylab/webhook')
  for (const kind of ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']) {
    const { webhooks } = findObject(objects, kind, 'skylab-tenants-lnamespaces') as unknown as { webhooks: object[] }
    const rules = [expect.objectContaining({ operations: ['CREATE'], resources: ['lnamespaces'] })]
    expect(webhooks).toEqual([expect.objectContaining({ failurePolicy: 'Fail', sideEffects: 'None', rules })])
  }
})
