/** The objects of apps at a real API server: what it keeps of them is what is wanted, and Pod Security admits them. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AppSettings } from '../../../src/apps/groups.ts'
import { renderApp } from '../../../src/apps/render.ts'
import { appParent } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { asObject, asObjects, type JsonObject } from '../../../src/base/json.ts'
import { creationPath } from '../../../src/kube/kinds.ts'
import { factOf, objectToCreate } from '../../../src/reconcile/facts.ts'
import { plan } from '../../../src/reconcile/plan.ts'
import type { Fact } from '../../../src/reconcile/types.ts'
import { appSettings, appWith, checkedFact, withPod } from '../../kit/apps/facts.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { testBed } from '../../kit/testbed.ts'

const namespace = `apps-${randomBytes(4).toString('hex')}`
const groups = { phusers: { namespace, volume: { claim: 'project', path: '/project' } } }
const kinds = { Deployment: 'apps/v1', Service: 'v1', NetworkPolicy: 'networking.k8s.io/v1' }
const paths = [['spec'], ['metadata', 'labels']]
const sources = Object.entries(kinds).map(([kind, apiVersion]) => ({ paths, watch: { apiVersion, kind } }))

let kube: AdminKube

beforeAll(async () => {
  kube = new AdminKube(testBed().kubeconfig)
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
})
afterAll(async () => {
  await kube?.delete('Namespace', namespace)
  kube?.close()
})

const handlers = [
  { httpGet: { path: '/x', port: 'http', httpHeaders: [{ name: 'A', value: '' }] } },
  { tcpSocket: { port: 5000 } },
  { exec: { command: ['true', ''] } },
]
const full: JsonObject = {
  ...{ name: 'mlflow', image: 'larribas/mlflow:1.9.1', command: ['a'], args: [], workingDir: '/w' },
  env: [
    { name: 'EMPTY', value: '' },
    { name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    { name: 'F', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'R', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
  ],
  ports: [{ name: 'http', containerPort: 5000 }],
  livenessProbe: { ...handlers[0], initialDelaySeconds: 0, periodSeconds: 7 },
  readinessProbe: handlers[1],
  startupProbe: { ...handlers[2], terminationGracePeriodSeconds: 5 },
  securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'], add: [] } },
  volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false }],
}
const fullPod: JsonObject = {
  ...{ containers: [full], terminationGracePeriodSeconds: 0, imagePullSecrets: [{ name: 'p' }, {}] },
  securityContext: { fsGroup: 0, fsGroupChangePolicy: 'Always' },
  volumes: [
    { name: 'v', configMap: { name: 'c', optional: false, items: [] } },
    { name: 'w', emptyDir: { sizeLimit: '1.5Gi' } },
    { name: 'x', secret: { secretName: 'x' } },
    { name: 'y', emptyDir: {} },
  ],
}

/** What the server keeps of an object that it would make. */
async function kept(object: KubeObject): Promise<KubeObject> {
  const path = `${creationPath(object.apiVersion, object.kind, namespace)}?dryRun=All&fieldValidation=Strict`
  const { status, body } = await kube.request('POST', path, object)
  expect([status, body.message]).toEqual([201, undefined])
  // In a dry run the server names the kind only of some.
  return { ...body, apiVersion: object.apiVersion, kind: object.kind }
}

const wishes = (app: Fact, settings: AppSettings) =>
  renderApp(app, checkedFact(app, settings).spec!, settings, false).objects

test.each([
  ['the application of the seed', appWith({}, namespace), appSettings({ groups })],
  ['an app with all that is kept', withPod(fullPod, namespace), appSettings({ groups })],
  ['an app without root', withPod(fullPod, namespace), appSettings({ groups, initAsRoot: false })],
  ['a stopped one', appWith({ stop: true, instanceType: 'gone' }, namespace), appSettings({ groups })],
  ['one with tolerations', appWith({ instanceType: 'gpu' }, namespace), appSettings({ groups })],
  [
    'one of which two never run at once',
    appWith({ httpPort: undefined }, namespace, { 'user.skylab/strategy': 'recreate' }),
    appSettings({ groups: { phusers: { namespace } } }),
  ],
])('nothing is to be changed of what the API server keeps of %s', async (_, app, settings) => {
  const objects = wishes(app, settings)
  const standing = await Promise.all(objects.map(async wish => factOf(await kept(objectToCreate(wish)), paths)))
  expect(plan({ objects, standing, parent: app }, { parent: appParent, sources })).toEqual([])
})

async function podOf(settings: AppSettings) {
  const app = withPod(fullPod, namespace)
  const deployment = wishes(app, settings).find(({ object }) => object.kind === 'Deployment')!
  const { metadata, spec } = asObject(asObject(deployment.object.spec).template)
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { ...asObject(metadata), name: 'app' }, spec }
  return kube.request('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, body)
}

test('Pod Security restricted admits the pod of an app when apps.initAsRoot is false, and no other', async () => {
  // The account of the namespace may come later than the namespace.
  await expect.poll(async () => (await podOf(appSettings({ groups, initAsRoot: false }))).status).toBe(201)
  const { status, body } = await podOf(appSettings({ groups }))
  expect([status, body.message]).toEqual([403, expect.stringContaining('violates PodSecurity')])
  expect(asObjects([body])).toHaveLength(1)
})
