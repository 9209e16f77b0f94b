/** The component notebooks in an overlay: a real API server accepts it, and its parts fit together. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { notebooksUser } from '../../../dev/redis/users.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { configWarnings, crossProblems } from '../../../src/settings/checks.ts'
import { buildDemoOverlay, demoReference } from '../../kit/cluster/demo-overlay.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, mountsOf, policiesFor, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const { kubeconfig } = testBed()
const admin = new AdminKube(kubeconfig)
afterAll(() => admin.close())

const name = 'skylab-notebooks'
const passwordFile = '/etc/skylab/secrets/redis.password'
const config = {
  run: ['notebooks'],
  redis: { url: `redis://${name}@skylab-redis:6379`, keyPrefix: name, passwordFile },
}

const overlayWith = (components: readonly string[], more: object = {}) =>
  buildOverlay({
    components,
    more: {
      configMapGenerator: [
        { name: `${name}-config`, namespace: 'skylab', files: ['skylab.yaml=notebooks.yaml'] },
        { name: 'skylab-ca', namespace: 'skylab', literals: ['ca.crt=…'] },
      ],
      ...more,
    },
    files: { 'notebooks.yaml': stringify(config) },
  })

test('the overlay demo with notebooks is accepted, and its pods by the strictest pod security standard', async () => {
  const objects = await overlayWith(['notebooks'])
  const answer = await tryOut(textOf(objects))
  expect(answer).toContain(`deployment.apps/${name} serverside-applied (server dry run)`)
  expect(answer).toContain(`validatingadmissionpolicybinding.admissionregistration.k8s.io/${name} serverside-applied`)
  const deployment = findObject(objects, 'Deployment', name)
  // Not the key that seals plans of labs, and another password than that of labs.
  expect(mountedFiles(deployment)).toEqual([passwordFile])
  const { metadata, spec } = deployment.spec.template
  expect(secretsOf(spec.volumes)).toEqual(['skylab-redis notebooks-password'])
  expect(forms['skylab-redis']).toContain('notebooks-password')
  expect(spec.volumes[0].configMap.name).toMatch(/^skylab-notebooks-config-[a-z0-9]{10}$/)
  expect(spec.serviceAccountName).toBe(name)
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'try-', labels: metadata.labels } },
    spec: { ...spec, serviceAccountName: 'default' },
  }
  expect((await admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', pod)).body.message).toBeUndefined()
})

test('components that patch the Deployment patch that of notebooks when they come after it', async () => {
  const patching = ['ca', 'api-tls', 'redis-tls']
  const added = ['/etc/skylab/ca', '/etc/skylab/tls', '/etc/skylab/redis-tls']
  const objects = await overlayWith(['notebooks', 'tenants', ...patching])
  for (const each of [name, 'skylab-tenants', 'skylab'])
    expect(mountsOf(objects, each), each).toEqual(expect.arrayContaining(added))
  expect(containerOf(objects, name).env).toEqual([{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/skylab/ca/ca.crt' }])
  expect(findObject(objects, 'Service', name).spec.ports[0]).toMatchObject({ name: 'http', appProtocol: 'https' })
  const first = await overlayWith([...patching, 'notebooks'])
  expect(mountsOf(first, name).filter(path => added.includes(path))).toEqual([])
})

test('the component second leaves out all objects of notebooks that the cluster has once', async () => {
  const isOfCluster = ({ kind, metadata }: Manifest) => metadata.namespace === undefined && kind !== 'Namespace'
  const names = (all: Manifest[]) => all.filter(isOfCluster).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  const [without, objects] = [await overlayWith(['second']), await overlayWith(['notebooks', 'second'])]
  expect(names(objects)).toEqual(names(without))
  expect(findObject(objects, 'Deployment', name)).toBeDefined()
  expect(names(await overlayWith(['notebooks']))).toEqual(
    expect.arrayContaining(
      ['ClusterRole', 'ClusterRoleBinding', 'ValidatingAdmissionPolicy'].map(kind => `${kind} ${name}`),
    ),
  )
})

describe('the connections of the controller of notebooks', () => {
  const own = { 'app.kubernetes.io/name': 'skylab', 'app.kubernetes.io/component': 'notebooks' }
  const store = { 'app.kubernetes.io/name': 'redis', 'app.kubernetes.io/component': 'store' }

  test('are those of labs inwards, and outwards to pods, the API server and DNS alone', async () => {
    const objects = await overlayWith(['notebooks'])
    expect(findObject(objects, 'Deployment', name).spec.template.metadata.labels).toMatchObject(own)
    const policies = policiesFor(objects, own)
    expect(policies.map(({ metadata }) => metadata.name).sort()).toEqual(['skylab-nobody', name])
    const { spec } = policies.find(({ metadata }) => metadata.name === name)
    const ofLabs = findObject(objects, 'NetworkPolicy', 'skylab').spec
    expect(spec.ingress).toEqual(ofLabs.ingress)
    const [toPods, ...rest] = spec.egress
    expect(toPods).toEqual({ to: [{ namespaceSelector: {} }] })
    expect(rest).toEqual(ofLabs.egress.slice(1))
  })

  test('reach Redis, which no other pod does', async () => {
    const objects = await overlayWith(['notebooks'])
    const sources = policiesFor(objects, store).flatMap(({ spec }) => spec.ingress ?? [])
    const components = sources.flatMap(({ from }) =>
      from.map(({ podSelector }: Manifest) => podSelector.matchLabels['app.kubernetes.io/component']),
    )
    expect(components.sort()).toEqual(['controller', 'notebooks'])
  })

  test('are drained one replica at a time, and asked about at the monitoring port alone', async () => {
    const objects = await overlayWith(['notebooks'])
    const { spec } = findObject(objects, 'PodDisruptionBudget', name)
    expect(spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: own } })
    const container = containerOf(objects, name)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container[probe].httpGet.port, probe).toBe('monitoring')
    const { selector, ports } = findObject(objects, 'Service', name).spec
    expect([selector, ports]).toEqual([own, [expect.objectContaining({ name: 'http', targetPort: 'http' })]])
  })
})

/** Blocks of docs/idle-notebooks.md in one language, without the indentation of their list. */
function blocksOf(language: string): readonly string[] {
  const page = readFileSync(new URL('../../../docs/idle-notebooks.md', import.meta.url), 'utf8')
  return [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(
    ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

test('the commands and the overlays of docs/idle-notebooks.md fit together', async () => {
  const commands = blocksOf('sh').join('\n')
  const [, written] = /cat > notebooks\.yaml <<'END'\n([\s\S]+?)\nEND\n/.exec(commands)!
  const parsed = configSchema.parse(parse(written!))
  expect([crossProblems(parsed), configWarnings(parsed)]).toEqual([[], []])
  // The user and the prefix are those of the line that the command adds.
  const [, user, prefix] = /^user (\S+) .* ~\{(\S+)\}:\*/.exec(notebooksUser())!
  expect([new URL(parsed.redis.url).username, parsed.redis.keyPrefix]).toEqual([user, prefix])
  expect(commands).toContain('sed "s/PASSWORD/$notebooks/" k8s/components/notebooks/users.acl')
  const [install, variables, mesh] = blocksOf('yaml').map(text => parse(text))
  const patches = [...variables.patches, ...mesh.patches]
  const objects = await buildOverlay({
    components: ['notebooks'],
    more: { configMapGenerator: install.configMapGenerator, patches },
    files: { 'notebooks.yaml': written! },
  })
  await tryOut(textOf(objects))
  const { env } = containerOf(objects, name)
  expect(env.map((each: Manifest) => each.name)).toEqual(['ENABLE_CULLING', 'CULL_IDLE_TIME', 'IDLENESS_CHECK_PERIOD'])
  expect(findObject(objects, 'ClusterRole', name).rules).toContainEqual(
    expect.objectContaining({ resources: ['services'] }),
  )
})

test('the overlay of the demo in the cluster is accepted with notebooks', async () => {
  const { folder, objects } = await buildDemoOverlay({ tenants: false, notebooks: true })
  expect(await tryOut(textOf(objects))).toContain(`deployment.apps/${name} serverside-applied`)
  expect(containerOf(objects, name).image).toBe(demoReference('controller'))
  expect(mountsOf(objects, name)).toEqual(expect.arrayContaining(['/etc/skylab/redis-tls', '/etc/skylab/ca']))
  const secret = objects.find(({ kind, metadata }) => kind === 'Secret' && metadata.name.startsWith('skylab-redis-'))
  const [users, password] = ['users.acl', 'notebooks-password'].map(key => Buffer.from(secret.data[key], 'base64'))
  expect(users!.toString()).toContain(`user ${name} reset on >${password} `)
  expect(readFileSync(join(folder, 'notebooks.yaml'), 'utf8')).toContain(`rediss://${name}@skylab-redis:6379`)
})
