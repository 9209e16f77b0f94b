/** Templates on a real API server: two processes, the policy, and what becomes of what people fill in. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asObject } from '../../../src/base/json.ts'
import { primehubQueries } from '../../kit/api/primehub-queries.ts'
import { callRest, type RestRequest } from '../../kit/api/rest-calls.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { seedApp, seedTemplate } from '../../kit/apps/seed.ts'
import { eventually } from '../../kit/cluster/world.ts'

let fleet: AppFleet
beforeAll(async () => {
  fleet = await AppFleet.start({ groups: ['a', 'b'], people: { ann: ['a'], bob: ['b'], root: [] } })
  const { name, ...shown } = asObject(seedTemplate().spec)
  // What the seed leaves empty is absent here.
  const body = Object.fromEntries([['name', name], ...Object.entries(shown).filter(([, value]) => value !== null)])
  const { status } = await call(0, 'PUT', '/admin/v1/templates/mlflow', 'root', { body })
  expect(status).toBe(201)
  await eventually(
    'both replicas show it',
    async () => (await call(1, 'GET', '/v1/templates/mlflow', 'ann')).status === 200,
  )
})
afterAll(() => fleet?.stop())

const call = (replica: number, method: string, path: string, who?: string, request?: RestRequest) =>
  callRest(`${fleet.replicas[replica]!.url}/apps${path}`, method, who, request)
const marked = 'marked-secret-value'
const env = [
  { name: 'BACKEND_STORE_URI', value: 'sqlite:///$(PRIMEHUB_APP_ROOT)/mlflow.db' },
  { name: 'DEFAULT_ARTIFACT_ROOT', value: '$(PRIMEHUB_APP_ROOT)/mlruns' },
]
const wish = (id: string, more: object = {}) => ({
  body: { id, templateId: 'mlflow', displayName: 'My MLflow', groupName: fleet.of('a'), scope: 'group', env, ...more },
})
const create = (replica: number, who: string, request: RestRequest) => call(replica, 'POST', '/v1/apps', who, request)

test('the template of the seed becomes the application of the seed, which runs', async () => {
  const { status, body } = await create(1, 'ann', wish('mlflow-xyzab'))
  expect([status, body.id, body.phase]).toEqual([201, 'mlflow-xyzab', 'Starting'])
  await fleet.phase('mlflow-xyzab', 'Ready')
  const { spec } = await fleet.read('mlflow-xyzab')
  expect(spec).toEqual({ ...asObject(seedApp().spec), groupName: fleet.of('a'), rewrite: false })
  // A repeat at the other replica, which may not know of it yet.
  expect((await create(0, 'ann', wish('mlflow-xyzab'))).status).toBe(200)
})

test('one wish of several at once makes an app, and one group gets an id', async () => {
  const both = await Promise.all([create(0, 'ann', wish('once')), create(1, 'ann', wish('once'))])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 201])
  await eventually('it is shown', async () => (await call(1, 'GET', '/v1/apps/once', 'ann')).status === 200)
  const other = await create(1, 'bob', wish('once', { groupName: fleet.of('b') }))
  expect([other.status, other.body.detail[0].type]).toEqual([409, 'conflict'])
  expect((await create(0, 'ann', wish('foreign', { groupName: fleet.of('b') }))).status).toBe(403)
})

test('an app is stopped, started and deleted at the other replica as soon as it is made', async () => {
  expect((await create(0, 'ann', wish('brief'))).status).toBe(201)
  const stopped = await call(1, 'POST', '/v1/apps/brief/stop', 'ann')
  expect([stopped.status, stopped.body.stop]).toEqual([202, true])
  const started = await call(0, 'POST', '/v1/apps/brief/start', 'ann')
  expect([started.status, started.body.stop]).toEqual([202, false])
  expect((await fleet.read('brief')).spec.stop).toBe(false)
  expect((await call(1, 'DELETE', '/v1/apps/brief', 'ann')).status).toBe(202)
  await eventually('its objects are gone', async () => (await fleet.child('Deployment', 'app-brief')) === null)
})

test('a secret value is in the Secret of the app, and in nothing that anybody reads', async () => {
  const secretly = wish('keeps', { env: [...env, { name: 'API_TOKEN', value: marked }] })
  const { status, body } = await create(0, 'ann', secretly)
  expect(status).toBe(201)
  await fleet.phase('keeps', 'Ready')
  const app = await fleet.read('keeps')
  const path = `/api/v1/namespaces/${fleet.of('a')}`
  const events = await fleet.kube.request('GET', `${path}/events`)
  const [, , , { valueFrom }] = app.spec.podTemplate.spec.containers[0].env
  const { body: secret } = await fleet.kube.request('GET', `${path}/secrets/${valueFrom.secretKeyRef.name}`)
  expect(Buffer.from(secret.data[valueFrom.secretKeyRef.key], 'base64').toString()).toBe(marked)
  expect(JSON.stringify([body, app, events.body, fleet.log()])).not.toContain(marked)
})

test('GraphQL makes, shows and stops an app as REST does', async () => {
  const ask = async (query: string, variables: object, who = 'ann') => {
    const request = { body: { query, variables } }
    const { status, body } = await callRest(`${fleet.replicas[1]!.url}/api/graphql`, 'POST', who, request)
    expect(status).toBe(200)
    return body
  }
  const { body } = wish('graph')
  expect((await ask(primehubQueries.create, { data: body })).data.createPhApplication).toEqual({ id: 'graph' })
  await fleet.phase('graph', 'Ready')
  const where = { id: 'graph' }
  const shown = async () => (await ask(primehubQueries.app, { where })).data.phApplication
  // The watch of this replica may be behind.
  const phApplication = await eventually('it is shown so', async () => {
    const app = await shown()
    return app.status === 'Ready' && app.pods.length > 0 && app
  })
  expect(phApplication).toMatchObject({ appName: 'mlflow', status: 'Ready', env, svcEndpoints: [expect.any(String)] })
  expect(phApplication.pods[0].logEndpoint).toMatch(/^https:\/\/platform\.example\.org\/api\/logs\/pods\/app-graph-/)
  expect((await ask(primehubQueries.stop, { where })).data.stopPhApplication.stop).toBe(true)
  await fleet.phase('graph', 'Stopped')
  expect((await ask(primehubQueries.app, { where }, 'bob')).errors[0].extensions.status).toBe(403)
})

test('a log is shown of pods that an app owns by UIDs, to members of its group', async () => {
  await create(0, 'ann', wish('logged'))
  await fleet.phase('logged', 'Ready')
  const pod = await eventually(
    'its pod is shown',
    async () => (await call(0, 'GET', '/v1/apps/logged/pods', 'ann')).body.pods[0],
  )
  const log = async (name: string, who?: string) => {
    const { status, body } = await callRest(`${fleet.replicas[0]!.url}/api/logs/pods/${name}?tailLines=1`, 'GET', who)
    return [status, body.detail?.[0].type]
  }
  // Nodes of KWOK have no logs: the API server is asked, and says so.
  expect(await log(pod.name, 'ann')).toEqual([503, 'unavailable'])
  expect(fleet.log().some(({ verb, resource }) => verb === 'log' && resource === 'pods')).toBe(true)
  expect(await log(pod.name, 'bob')).toEqual([403, 'forbidden'])
  expect(await log('app-logged-1-2', 'ann')).toEqual([404, 'unknown_pod'])
  // Somebody in the namespace writes what the pod of the app has, but cannot know who will own it.
  const pods = `/api/v1/namespaces/${fleet.of('a')}/pods`
  const { metadata, spec } = await fleet.must('GET', `${pods}/${pod.name}`)
  const planted = { ...metadata.ownerReferences![0]!, uid: '0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55' }
  const { nodeName: _, ...podSpec } = spec as Record<string, unknown>
  await fleet.must('POST', pods, {
    metadata: { name: 'app-logged-planted', labels: metadata.labels, ownerReferences: [planted] },
    spec: podSpec,
  })
  expect(await log('app-logged-planted', 'ann')).toEqual([404, 'unknown_pod'])
})

test('a template that is put at both replicas at once is made once', async () => {
  const body = { name: 'Twice', template: asObject(seedTemplate().spec).template }
  const put = (replica: number, id: string) => call(replica, 'PUT', `/admin/v1/templates/${id}`, 'root', { body })
  const ids = ['twice-a', 'twice-b', 'twice-c', 'twice-d']
  const answers = await Promise.all(ids.map(async id => Promise.all([put(0, id), put(1, id)])))
  for (const both of answers) expect(both.map(({ status }) => status).sort()).toEqual([200, 201])
})

test('the end of a template changes no app', async () => {
  await create(0, 'ann', wish('stays'))
  const before = await fleet.read('stays')
  const body = { name: 'Short', template: asObject(seedTemplate().spec).template }
  expect((await call(0, 'PUT', '/admin/v1/templates/short', 'root', { body })).status).toBe(201)
  expect((await call(0, 'PUT', '/admin/v1/templates/short', 'root', { body })).status).toBe(200)
  expect((await call(0, 'DELETE', '/admin/v1/templates/short', 'root')).status).toBe(204)
  expect((await call(0, 'DELETE', '/v1/templates/mlflow', 'ann')).status).toBe(405)
  expect((await fleet.read('stays')).spec).toEqual(before.spec)
  expect((await call(0, 'POST', '/v1/apps', 'ann', wish('late', { templateId: 'short' }))).status).toBe(422)
})

test('a replica is not ready, but works, when it starts before it may read templates', async () => {
  const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${fleet.name}/rolebindings`
  const { roleRef, subjects } = (await fleet.must('GET', `${bindings}/skylab-apps-templates`)) as unknown as {
    roleRef: object
    subjects: object[]
  }
  await fleet.must('DELETE', `${bindings}/skylab-apps-templates`)
  const late = await fleet.add('apps-late')
  const readyz = async () => {
    const response = await fetch(`${late.monitoringUrl}/readyz`)
    return { status: response.status, text: await response.text() }
  }
  await eventually('it waits for them', async () => (await readyz()).text.includes(`the templates in ${fleet.name}: `))
  expect((await readyz()).status).toBe(503)
  expect((await callRest(`${late.url}/apps/v1/templates`, 'GET', 'ann')).status).toBe(503)
  expect((await callRest(`${late.url}/apps/v1/apps`, 'GET', 'ann')).status).toBe(200)
  await fleet.must('POST', bindings, { metadata: { name: 'skylab-apps-templates' }, roleRef, subjects })
  await late.ready()
  expect((await callRest(`${late.url}/apps/v1/templates/mlflow`, 'GET', 'ann')).status).toBe(200)
})
