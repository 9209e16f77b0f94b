/** The component apps in an overlay: a real API server accepts it, and its pods by the strictest standard. */
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { configSchema } from '../../../src/config/schema.ts'
import { crossProblems } from '../../../src/settings/checks.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { forms, type Manifest, mountedFiles, secretsOf, tryOut } from '../../kit/cluster/manifests.ts'
import { buildOverlay, containerOf, findObject, textOf } from '../../kit/cluster/overlays.ts'
import { testBed } from '../../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
afterAll(() => admin.close())

const passwordFile = '/etc/skylab/secrets/redis.password'
const config = {
  run: ['apps'],
  redis: { url: 'redis://skylab-apps@skylab-redis:6379', keyPrefix: 'skylab-apps', passwordFile },
  apps: { publicUrl: 'https://platform.example.org', groups: { physics: { namespace: 'physics' } } },
}

const overlay = (): Promise<Manifest[]> =>
  buildOverlay({
    components: ['apps'],
    more: { configMapGenerator: [{ name: 'skylab-apps-config', namespace: 'skylab', files: ['skylab.yaml'] }] },
    files: { 'skylab.yaml': stringify(config) },
  })

test('the overlay demo with apps is accepted, and its pods by the strictest pod security standard', async () => {
  expect(crossProblems(configSchema.parse(config))).toEqual([])
  const objects = await overlay()
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
