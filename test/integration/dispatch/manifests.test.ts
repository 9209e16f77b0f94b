/** The component dispatch in overlays: a real API server accepts it, it can do no more than it must, and docs/deploy.md fits. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { dispatchUser } from '../../../dev/redis/users.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { gatewayPorts } from '../../../src/dispatch/tunnel.ts'
import { configWarnings, crossProblems } from '../../../src/settings/checks.ts'
import { defineGafaelfawr } from '../../kit/cluster/gafaelfawr-crd.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, mountsOf, policiesFor, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
beforeAll(() => defineGafaelfawr(admin))
afterAll(() => admin.close())

const name = 'skylab-dispatch'
const folder = '/etc/skylab/secrets'
const labels = { 'app.kubernetes.io/name': 'skylab', 'app.kubernetes.io/component': 'dispatch' }
const store = { 'app.kubernetes.io/name': 'redis', 'app.kubernetes.io/component': 'store' }

/** The section of the page that operators follow. */
const page = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8')
const [, section = ''] = /^## Containers on machines\n([\s\S]*?)^## /m.exec(page) ?? []
const blocksOf = (language: string) =>
  [...section.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text!)
const commands = blocksOf('sh').join('\n')
const [, written = ''] = /cat > site\/dispatch\.yaml <<'END'\n([\s\S]+?)\nEND\n/.exec(commands) ?? []
const site = parse(blocksOf('yaml')[0]!)

const overlayWith = (components: readonly string[]) =>
  buildOverlay({
    components,
    more: {
      configMapGenerator: [
        ...site.configMapGenerator,
        { name: 'skylab-ca', namespace: 'skylab', literals: ['ca.crt=…'] },
      ],
    },
    files: { 'dispatch.yaml': written },
  })

/** What the API server says of a pod of this template; nothing if it admits it. */
async function refusalOf({ metadata, spec }: Manifest): Promise<string | undefined> {
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'try-', labels: metadata.labels } },
    spec: { ...spec, serviceAccountName: 'default' },
  }
  return (await admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', pod)).body.message
}

describe('the overlay of docs/deploy.md', () => {
  let objects: readonly Manifest[]
  beforeAll(async () => {
    objects = await buildOverlay({
      ...{ base: 'oidc', components: ['dispatch'], files: { 'dispatch.yaml': written } },
      more: { configMapGenerator: site.configMapGenerator, patches: site.patches },
    })
  })

  test('is accepted, and its pods by the strictest pod security standard', async () => {
    const answer = await tryOut(textOf(objects))
    expect(answer).toContain(`deployment.apps/${name} serverside-applied (server dry run)`)
    const { template } = findObject(objects, 'Deployment', name).spec
    expect(await refusalOf(template)).toBeUndefined()
    const lax = { ...template, spec: { ...template.spec, securityContext: {} } }
    expect(await refusalOf(lax)).toContain('violates PodSecurity "restricted')
    expect(containerOf(objects, name).securityContext).toMatchObject({ readOnlyRootFilesystem: true })
    const account = findObject(objects, 'ServiceAccount', name)
    expect(Object.keys(account.metadata.annotations)).toEqual(['eks.amazonaws.com/role-arn'])
  })

  test('has a configuration without problems, whose files are those of its Secrets', () => {
    const parsed = configSchema.parse(parse(written))
    expect([crossProblems(parsed), configWarnings(parsed)]).toEqual([[], []])
    const deployment = findObject(objects, 'Deployment', name)
    const { volumes } = deployment.spec.template.spec
    expect(volumes[0].configMap.name).toMatch(/^skylab-dispatch-config-[a-z0-9]{10}$/)
    // Nothing of labs: neither their sealing key nor the password of their user of Redis.
    const own = ['sealing.key', 'dispatch.token', 'management.token', 'ssh.key', 'ec2.secret']
    expect(mountedFiles(deployment)).toEqual([...own, 'redis.password'].map(file => `${folder}/${file}`))
    expect(secretsOf(volumes)).toEqual([...own.map(key => `${name} ${key}`), 'skylab-redis dispatch-password'])
    expect(forms['skylab-redis']).toContain('dispatch-password')
    const named = written.match(/\/etc\/skylab\/[\w./-]+/g)
    expect(named).toHaveLength(5)
    expect(mountedFiles(deployment)).toEqual(expect.arrayContaining(named!))
  })

  test('leads paths of users and administrators to it, and none of operators', () => {
    const { metadata, spec } = findObject(objects, 'Ingress', 'skylab')
    const { paths } = spec.rules[0].http
    expect(paths.map(({ path, backend }: Manifest) => [path, backend.service.name])).toEqual([
      ['/nublado/spawner/v1', 'skylab'],
      ['/dispatch', name],
    ])
    expect(metadata.annotations['nginx.ingress.kubernetes.io/proxy-read-timeout']).toBe('3600')
  })

  test('is removed by commands that name each of its objects', () => {
    const kinds = ['Deployment', 'Service', 'PodDisruptionBudget', 'ServiceAccount', 'NetworkPolicy']
    const own = objects.filter(({ kind, metadata }) => kind !== 'ConfigMap' && metadata.name.startsWith(name))
    expect([...new Set(own.map(({ kind }) => kind))].sort()).toEqual([...kinds].sort())
    const deleted = [...commands.matchAll(/^kubectl delete ([\w,]+) ([\w -]+?) -n skylab/gm)].flatMap(
      ([, what, names]) => what!.split(',').flatMap(kind => names!.split(' ').map(each => `${kind} ${each}`)),
    )
    const all = [...own.map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`), `secret ${name}`]
    expect(deleted.sort()).toEqual(all.sort())
  })
})

test('the user of Redis and its keys are those of the component', () => {
  const { redis } = configSchema.parse(parse(written))
  const [, user, prefix] = /^user (\S+) .* ~\{(\S+)\}:\*/.exec(dispatchUser())!
  expect([new URL(redis.url).username, redis.keyPrefix]).toEqual([user, prefix])
  expect(commands).toContain('sed "s/PASSWORD/$dispatch/" k8s/components/dispatch/users.acl')
})

test('the account of dispatch has no rights, and its pods no token', async () => {
  const objects = await overlayWith(['dispatch'])
  const account = findObject(objects, 'ServiceAccount', name)
  const { spec } = findObject(objects, 'Deployment', name).spec.template
  expect(spec.serviceAccountName).toBe(name)
  expect([account.automountServiceAccountToken, spec.automountServiceAccountToken]).toEqual([false, false])
  const bound = objects.flatMap(({ subjects }) => subjects ?? []).map((subject: Manifest) => subject.name)
  expect(bound).not.toContain(name)
  // Nor does it bring anything that a cluster has once.
  const isOfCluster = ({ kind, metadata }: Manifest) => metadata.namespace === undefined && kind !== 'Namespace'
  expect(objects.filter(isOfCluster)).toEqual((await overlayWith([])).filter(isOfCluster))
})

describe('the connections of dispatch', () => {
  test('are those of labs inwards, and outwards to the cloud, machines, Redis and DNS', async () => {
    const objects = await overlayWith(['dispatch'])
    expect(findObject(objects, 'Deployment', name).spec.template.metadata.labels).toMatchObject(labels)
    const policies = policiesFor(objects, labels)
    expect(policies.map(({ metadata }) => metadata.name).sort()).toEqual([name, 'skylab-nobody'])
    const { spec } = policies.find(({ metadata }) => metadata.name === name)
    const ofLabs = findObject(objects, 'NetworkPolicy', 'skylab').spec
    expect(spec.ingress).toEqual(ofLabs.ingress)
    const [outside, toStore, toNames, ...more] = spec.egress
    expect(more).toEqual([])
    const { SSHPort } = configSchema.parse(parse(written)).dispatch!.CloudVMs
    // Any address but those that serve credentials of a cloud, as for labs.
    const blocks = ofLabs.egress[0].to.filter(({ ipBlock }: Manifest) => ipBlock)
    const { first: port, last: endPort } = gatewayPorts
    expect(outside).toEqual({ to: blocks, ports: [{ port: 443 }, { port: SSHPort }, { port, endPort }] })
    expect(toStore).toEqual({ to: [{ podSelector: { matchLabels: store } }], ports: [{ port: 'redis' }] })
    expect(toNames.ports.map(({ port }: Manifest) => port)).toEqual([53, 53])
  })

  test('reach Redis, which no other pod beside the controller does', async () => {
    const sources = policiesFor(await overlayWith(['dispatch']), store).flatMap(({ spec }) => spec.ingress ?? [])
    const components = sources.flatMap(({ from }) =>
      from.map(({ podSelector }: Manifest) => podSelector.matchLabels['app.kubernetes.io/component']),
    )
    expect(components.sort()).toEqual(['controller', 'dispatch'])
  })
})

test('dispatch is asked about at the monitoring port alone, and loses no replica before another is ready', async () => {
  const objects = await overlayWith(['dispatch'])
  const container = containerOf(objects, name)
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    expect(container[probe].httpGet.port, probe).toBe('monitoring')
  const { replicas, strategy, template } = findObject(objects, 'Deployment', name).spec
  expect([replicas, strategy.rollingUpdate]).toEqual([3, { maxSurge: 1, maxUnavailable: 0 }])
  const { times } = configSchema.parse(parse(written))
  const preStop = container.lifecycle.preStop.sleep.seconds
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + times.drainSeconds + 5)
  const { spec } = findObject(objects, 'PodDisruptionBudget', name)
  expect(spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: labels } })
  const { selector, ports } = findObject(objects, 'Service', name).spec
  expect([selector, ports]).toEqual([labels, [expect.objectContaining({ name: 'http', targetPort: 'http' })]])
})

test('components that patch the Deployment give dispatch what they give the controller of labs', async () => {
  const objects = await overlayWith(['dispatch', 'ca', 'api-tls', 'redis-tls'])
  await tryOut(textOf(objects))
  const added = ['/etc/skylab/ca', '/etc/skylab/tls', '/etc/skylab/redis-tls']
  expect(mountsOf(objects, name)).toEqual(expect.arrayContaining([...added, '/tmp']))
  expect(findObject(objects, 'Service', name).spec.ports[0]).toMatchObject({ appProtocol: 'https' })
})

describe('behind Gafaelfawr', () => {
  const file = 'dispatch-ingresses.yaml'
  const secrets = ['user', 'admin'].map(key => ({ key, path: `ingress-${key}.secret` }))
  const mount = {
    ...{ op: 'add', path: '/spec/template/spec/volumes/1/projected/sources/-' },
    value: { secret: { name: 'skylab-ingress', items: secrets } },
  }
  const gafaelfawr = {
    baseUrl: 'https://skylab.example.org',
    userSecretFiles: [`${folder}/ingress-user.secret`],
    adminSecretFiles: [`${folder}/ingress-admin.secret`],
  }
  const config = { ...parse(written), identity: { provider: 'gafaelfawr', gafaelfawr } }
  let objects: readonly Manifest[]
  beforeAll(async () => {
    objects = await buildOverlay({
      ...{ base: 'gafaelfawr', resources: [file], components: ['dispatch'] },
      more: {
        configMapGenerator: site.configMapGenerator,
        patches: [{ target: { kind: 'Deployment', name }, patch: JSON.stringify([mount]) }],
      },
      files: {
        'dispatch.yaml': stringify(config),
        [file]: readFileSync(join(k8sFolder, 'overlays/gafaelfawr/dispatch.yaml'), 'utf8'),
      },
    })
  })

  test('the overlay with dispatch is accepted, with a configuration whose files exist', async () => {
    const answer = await tryOut(textOf(objects))
    for (const each of ['user', 'admin'])
      expect(answer).toContain(`gafaelfawringress.gafaelfawr.lsst.io/${name}-${each} serverside-applied`)
    expect(crossProblems(configSchema.parse(config))).toEqual([])
    const named = stringify(config).match(/\/etc\/skylab\/[\w./-]+/g)
    expect(mountedFiles(findObject(objects, 'Deployment', name))).toEqual(expect.arrayContaining(named!))
  })

  /** Every ingress whose path this one begins with. */
  const waysTo = (path: string): Manifest[] =>
    objects
      .filter(({ kind }) => kind === 'GafaelfawrIngress')
      .flatMap(({ config: asked, template }) =>
        template.spec.rules[0].http.paths.map((each: Manifest) => ({ ...each, asked })),
      )
      .filter(each => each.pathType === 'Prefix' && `${path}/`.startsWith(`${each.path}/`))

  test.each([
    ['/dispatch/v1/containers', 'exec:notebook', { notebook: {} }],
    ['/dispatch/v1/containers/zzzzz-dz642-000000000000a1b/log', 'exec:notebook', { notebook: {} }],
    ['/dispatch/admin/v1/containers', 'admin:jupyterlab', undefined],
  ])('%s is for %s', (path, scope, delegate) => {
    const [way, ...others] = waysTo(path)
    expect(others).toEqual([])
    expect(way.backend.service).toEqual({ name, port: { name: 'http' } })
    expect([way.asked.scopes, way.asked.delegate]).toEqual([{ all: [scope] }, delegate])
  })

  test.each(['/arvados/v1/dispatch/instances', '/dispatch', '/dispatch/admin', '/metrics'])('%s has none', path => {
    expect(waysTo(path)).toEqual([])
  })
})

test('the component dispatch-billing adds the files of the database of bills, and the way to it alone', async () => {
  const [without, objects] = [await overlayWith(['dispatch']), await overlayWith(['dispatch', 'dispatch-billing'])]
  await tryOut(textOf(objects))
  const files = (all: readonly Manifest[]) => mountedFiles(findObject(all, 'Deployment', name))
  const added = forms['skylab-dispatch-billing']!.map(file => `${folder}/${file}`)
  expect(files(objects)).toEqual([...files(without), ...added])
  const { spec } = findObject(objects, 'NetworkPolicy', 'skylab-dispatch-billing')
  expect(labels).toMatchObject(spec.podSelector.matchLabels)
  const blocks = findObject(objects, 'NetworkPolicy', 'skylab').spec.egress[0].to.filter(
    ({ ipBlock }: Manifest) => ipBlock,
  )
  expect(spec.egress).toEqual([{ to: blocks, ports: [{ port: 5432 }] }])
})
