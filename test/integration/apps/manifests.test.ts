/** The component apps in an overlay: a real API server accepts it, and its pods by the strictest standard. */
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { configSchema } from '../../../src/config/schema.ts'
import { crossProblems } from '../../../src/settings/checks.ts'
import { buildDemoOverlay, demoReference } from '../../kit/cluster/demo-overlay.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, mountsOf, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
afterAll(() => admin.close())

const passwordFile = '/etc/skylab/secrets/redis.password'
const config = {
  run: ['apps'],
  redis: { url: 'redis://skylab-apps@skylab-redis:6379', keyPrefix: 'skylab-apps', passwordFile },
  apps: { publicUrl: 'https://platform.example.org', groups: { physics: { namespace: 'physics' } } },
}

const overlayWith = (components: readonly string[]): Promise<Manifest[]> =>
  buildOverlay({
    components,
    more: {
      configMapGenerator: [
        { name: 'skylab-apps-config', namespace: 'skylab', files: ['skylab.yaml'] },
        { name: 'skylab-ca', namespace: 'skylab', literals: ['ca.crt=…'] },
      ],
    },
    files: { 'skylab.yaml': stringify(config) },
  })

test('the overlay demo with apps is accepted, and its pods by the strictest pod security standard', async () => {
  expect(crossProblems(configSchema.parse(config))).toEqual([])
  const objects = await overlayWith(['apps'])
  const answer = await tryOut(textOf(objects))
  expect(answer).toContain('deployment.apps/skylab-apps serverside-applied (server dry run)')
  const deployment = findObject(objects, 'Deployment', 'skylab-apps')
  expect(mountedFiles(deployment)).toEqual([passwordFile])
  const { metadata, spec } = deployment.spec.template
  expect(secretsOf(spec.volumes)).toEqual(['skylab-redis apps-password'])
  expect(forms['skylab-redis']).toContain('apps-password')
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'try-', labels: metadata.labels } },
    spec: { ...spec, serviceAccountName: 'default' },
  }
  expect((await admin.request('POST', '/api/v1/namespaces/skylab/pods?dryRun=All', pod)).body.message).toBeUndefined()
  expect(containerOf(objects, 'skylab-apps').args).toEqual(['serve', '--config', '/etc/skylab/config/skylab.yaml'])
})

test('components that patch the Deployment give the controller of apps what they give that of labs', async () => {
  const objects = await overlayWith(['apps', 'ca', 'api-tls', 'redis-tls'])
  await tryOut(textOf(objects))
  const added = ['/etc/skylab/ca', '/etc/skylab/tls', '/etc/skylab/redis-tls']
  expect(mountsOf(objects, 'skylab-apps')).toEqual(expect.arrayContaining(added))
  expect(findObject(objects, 'Service', 'skylab-apps').spec.ports[0]).toMatchObject({ appProtocol: 'https' })
})

test('the component second leaves out all objects of apps that the cluster has once', async () => {
  const isOfCluster = ({ kind, metadata }: Manifest) => metadata.namespace === undefined && kind !== 'Namespace'
  const names = (all: Manifest[]) => all.filter(isOfCluster).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  const [without, objects] = [await overlayWith(['second']), await overlayWith(['apps', 'second'])]
  expect(names(objects)).toEqual(names(without))
  expect(findObject(objects, 'Deployment', 'skylab-apps')).toBeDefined()
  const own = ['ClusterRole', 'ClusterRoleBinding', 'ValidatingAdmissionPolicy'].map(kind => `${kind} skylab-apps`)
  expect(names(await overlayWith(['apps']))).toEqual(expect.arrayContaining(own))
})

test('the overlay of the demo in the cluster is accepted with apps and gateways', async () => {
  const { objects } = await buildDemoOverlay({ tenants: false, apps: true })
  const answer = await tryOut(textOf(objects))
  for (const name of ['skylab-apps', 'skylab-gateway']) {
    expect(answer).toContain(`deployment.apps/${name} serverside-applied`)
    expect(containerOf(objects, name).image, name).toBe(demoReference('controller'))
    expect(mountsOf(objects, name), name).toEqual(expect.arrayContaining(['/etc/skylab/redis-tls', '/etc/skylab/ca']))
  }
  const tokens = mountedFiles(findObject(objects, 'Deployment', 'skylab-gateway'))
  expect(tokens).toContain('/etc/skylab/secrets/tokens.yaml')
})
