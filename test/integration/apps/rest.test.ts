/** REST of apps on a real API server: three processes, the policy, and what becomes of what people wish. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callRest, followRest, type RestRequest, type StreamedEvent } from '../../kit/api/rest-calls.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { kwokType } from '../../kit/apps/objects.ts'
import { eventually } from '../../kit/cluster/world.ts'

let fleet: AppFleet
beforeAll(async () => {
  const people = { ann: ['a'], bob: ['b'], eve: [], root: [] }
  const rules = [{ name: 'all', sources: ['push' as const], idleTimeoutSeconds: 86_400 }]
  const idle = { enabled: true, annotations: { app: 'off' as const }, rules }
  const instanceTypes = { small: kwokType, nowhere: { ...kwokType, nodeSelector: { type: 'nowhere' } } }
  fleet = await AppFleet.start({ replicas: 3, groups: ['a', 'b'], people, apps: { instanceTypes }, more: { idle } })
})
afterAll(() => fleet?.stop())

const call = (replica: number, method: string, path: string, who?: string, request?: RestRequest) =>
  callRest(`${fleet.replicas[replica]!.url}/apps${path}`, method, who, request)
const followed = (replica: number, id: string, isLast: (event: StreamedEvent) => boolean, lastEventId?: string) =>
  followRest(`${fleet.replicas[replica]!.url}/apps/v1/apps/${id}/events`, 'ann', isLast, lastEventId)
const isPhase = (phase: string) => (event: StreamedEvent) =>
  event.event === 'phase' && JSON.parse(event.data).phase === phase
const shown = async (id: string, who = 'ann') => (await call(0, 'GET', `/v1/apps/${id}`, who)).body
const marked = 'marked-secret-value'

/** Waits until a replica shows an app. */
async function made(id: string, wish?: Parameters<AppFleet['make']>[1], group?: string): Promise<void> {
  await fleet.make(id, wish, group)
  for (const replica of [0, 1, 2])
    await eventually(
      `${id} is shown`,
      async () => (await call(replica, 'GET', `/admin/v1/apps/${id}`, 'root')).status === 200,
    )
}

test('an app is started, stopped and deleted, each wish at another replica', async () => {
  await made('lives')
  await fleet.phase('lives', 'Ready')
  const { status, body } = await call(1, 'GET', '/v1/apps/lives/activity', 'ann')
  expect([status, body.kind, body.id]).toEqual([200, 'app', 'lives'])
  const stopped = await call(1, 'POST', '/v1/apps/lives/stop', 'ann')
  expect([stopped.status, stopped.body.stop]).toEqual([202, true])
  await fleet.phase('lives', 'Stopped')
  const started = await call(2, 'POST', '/v1/apps/lives/start', 'ann')
  expect([started.status, started.body.stop]).toEqual([202, false])
  await fleet.phase('lives', 'Ready')
  const pods = await eventually('its pod is shown', async () => {
    const { body } = await call(0, 'GET', '/v1/apps/lives/pods', 'ann')
    return body.pods.some(({ ready }: { ready: boolean }) => ready) && body.pods
  })
  expect(pods).toMatchObject([{ phase: 'Running', ready: true }])
  expect((await call(0, 'DELETE', '/v1/apps/lives', 'ann')).status).toBe(202)
  await eventually('its objects are gone', async () => (await fleet.child('Deployment', 'app-lives')) === null)
  await eventually('nobody finds it', async () => (await call(0, 'GET', '/v1/apps/lives', 'ann')).status === 404)
})

test('an app is shown to members of its group, to administrators, and to nobody else', async () => {
  await made('seen')
  await made('other', {}, 'b')
  const statuses = await Promise.all(
    ['ann', 'eve', 'bob', 'root', undefined].map(async who => (await call(0, 'GET', '/v1/apps/seen', who)).status),
  )
  expect(statuses).toEqual([200, 403, 403, 403, 401])
  const idsOf = async (path: string, who: string) =>
    (await call(0, 'GET', path, who)).body.apps.map(({ id }: { id: string }) => id)
  expect(await idsOf('/v1/apps', 'ann')).not.toContain('other')
  expect(await idsOf('/v1/apps', 'eve')).toEqual([])
  expect(await idsOf('/admin/v1/apps', 'root')).toEqual(expect.arrayContaining(['seen', 'other']))
  expect(await idsOf(`/admin/v1/apps?group=${fleet.of('b')}`, 'root')).toEqual(['other'])
  expect((await call(0, 'GET', `/v1/apps?group=${fleet.of('b')}`, 'ann')).status).toBe(403)
})

describe('a change', () => {
  test('rolls the app out, with a secret that only its pods get', async () => {
    await made('changes')
    await fleet.phase('changes', 'Ready')
    const body = {
      scope: 'primehub',
      env: [
        { name: 'PLAIN', value: 'x' },
        { name: 'API_TOKEN', value: marked },
      ],
    }
    const { status, body: app } = await call(1, 'PATCH', '/v1/apps/changes', 'ann', { body })
    expect([status, app.scope, app.env]).toEqual([202, 'primehub', [body.env[0], { name: 'API_TOKEN', value: '***' }]])
    await fleet.phase('changes', 'Ready')
    const { env } = (await fleet.child('Deployment', 'app-changes')).spec.template.spec.containers[0]
    const { secretKeyRef } = env.find(({ name }: { name: string }) => name === 'API_TOKEN').valueFrom
    expect(secretKeyRef.name).toMatch(/^app-changes-env-[0-9a-f]{16}$/)
    const path = `/api/v1/namespaces/${fleet.of('a')}/secrets`
    const { body: secret } = await fleet.kube.request('GET', `${path}/${secretKeyRef.name}`)
    expect(Buffer.from(secret.data[secretKeyRef.key], 'base64').toString()).toBe(marked)
    expect(secret.metadata.ownerReferences).toMatchObject([{ kind: 'PhApplication', name: 'changes' }])
    // Another value, at another replica: it has a Secret of its own, and pods of before keep theirs.
    await eventually(
      'the change is shown',
      async () => (await call(2, 'GET', '/v1/apps/changes', 'ann')).body.generation === app.generation,
    )
    const again = await call(2, 'PATCH', '/v1/apps/changes', 'ann', {
      body: { env: [{ name: 'API_TOKEN', value: `${marked}-2` }] },
    })
    expect(again.status).toBe(202)
    const standing = async () => {
      const { body } = await fleet.kube.request('GET', `${path}?labelSelector=primehub.io/phapplication=changes`)
      return body.items.map(({ data }: { data: object }) => Object.keys(data).length)
    }
    expect(await standing()).toEqual([1, 1])
    await fleet.drop('changes')
    await eventually('the Secrets go with the app', async () => (await standing()).length === 0)
    expect(JSON.stringify([app, again.body, fleet.log()])).not.toContain(marked)
  })

  test('is bound to a version', async () => {
    await made('bound')
    const { headers } = await call(0, 'GET', '/v1/apps/bound', 'ann')
    const etag = headers.get('etag')!
    const first = await call(0, 'PATCH', '/v1/apps/bound', 'ann', {
      body: { displayName: 'one' },
      headers: { 'If-Match': etag },
    })
    expect(first.status).toBe(202)
    const late = { headers: { 'If-Match': etag } }
    const answers = await Promise.all([
      call(0, 'PATCH', '/v1/apps/bound', 'ann', { body: { displayName: 'two' }, ...late }),
      call(0, 'POST', '/v1/apps/bound/stop', 'ann', late),
      call(0, 'DELETE', '/v1/apps/bound', 'ann', late),
    ])
    expect(answers.map(({ status }) => status)).toEqual([412, 412, 412])
    expect((await fleet.read('bound')).spec).toMatchObject({ displayName: 'one' })
    // A replica that does not know the newer version yet asks the API server.
    const behind = await call(1, 'POST', '/v1/apps/bound/stop', 'ann', {
      headers: { 'If-Match': first.headers.get('etag')! },
    })
    expect([202, 412]).toContain(behind.status)
  })
})

describe('events', () => {
  test('go on at another replica after the one that sent them was killed', async () => {
    const following = made('told').then(() => followed(0, 'told', isPhase('Ready')))
    const first = await following
    expect(first.map(({ event }) => event)).toEqual(expect.arrayContaining(['phase']))
    fleet.replicas[0]!.kill()
    await eventually(
      'another replica knows',
      async () => (await call(1, 'POST', '/v1/apps/told/stop', 'ann')).status === 202,
    )
    const rest = await followed(1, 'told', isPhase('Stopped'), first.at(-1)!.id)
    const all = await followed(2, 'told', isPhase('Stopped'))
    expect(all).toEqual([...first, ...rest])
    expect(all.map(({ id }) => Number(id!.split('-')[1]))).toEqual(all.map((_, index) => index + 1))
    // It comes back by itself.
    await fleet.ready()
  })

  test('say why a pod does not start, and end with the app', async () => {
    await made('stuck', { instanceType: 'nowhere' })
    const gone = [0, 1].map(async replica => {
      const events = await followed(replica, 'stuck', ({ event }) => event === 'gone')
      expect(events.at(-1)).toMatchObject({ id: undefined, event: 'gone' })
      // Each replica sees the end by its own watch: only this one is sure to know.
      expect((await call(replica, 'GET', '/v1/apps/stuck/events', 'ann')).status).toBe(404)
    })
    const error = await followed(2, 'stuck', ({ event }) => event === 'error')
    expect(error.at(-1)!.data).toMatch(/available|node/)
    await call(2, 'DELETE', '/v1/apps/stuck', 'ann')
    await Promise.all(gone)
  })

  test('are shown to members alone', async () => {
    await made('private')
    expect((await call(0, 'GET', '/v1/apps/private/events', 'eve')).status).toBe(403)
  })
})

describe('bad input', () => {
  const json = (text: unknown) => ({ body: text })
  const rows: [name: string, method: string, path: string, request: RestRequest, status: number, type: string][] = [
    ['an id that none can have', 'GET', '/v1/apps/Quiet', {}, 422, 'invalid'],
    ['dots', 'GET', '/v1/apps/quiet.x', {}, 422, 'invalid'],
    ['an encoded slash', 'GET', '/v1/apps/quiet%2fpods', {}, 422, 'invalid'],
    ['another id', 'GET', '/v1/apps/none', {}, 404, 'unknown_app'],
    ['a bad filter', 'GET', '/v1/apps?limit=0', {}, 422, 'invalid'],
    ['an unknown filter', 'GET', '/v1/apps?__proto__=1', {}, 422, 'unknown_key'],
    ['a query that is no text', 'GET', '/v1/apps?group=%ff', {}, 400, 'malformed'],
    ['another id in a change', 'PATCH', '/v1/apps/quiet', json({ id: 'x' }), 422, 'unknown_key'],
    ['another group', 'PATCH', '/v1/apps/quiet', json({ groupName: 'x' }), 422, 'unknown_key'],
    ['a template', 'PATCH', '/v1/apps/quiet', json({ templateId: 'x' }), 422, 'unknown_key'],
    ['an unknown instance type', 'PATCH', '/v1/apps/quiet', json({ instanceType: 'huge' }), 422, 'invalid'],
    [
      'a name of the platform',
      'PATCH',
      '/v1/apps/quiet',
      json({ env: [{ name: 'PRIMEHUB_URL', value: '' }] }),
      422,
      'invalid',
    ],
    [
      'a mask without a secret',
      'PATCH',
      '/v1/apps/quiet',
      json({ env: [{ name: 'A_KEY', value: '***' }] }),
      422,
      'invalid',
    ],
    ['a reference', 'PATCH', '/v1/apps/quiet', json({ env: [{ name: 'A', valueFrom: {} }] }), 422, 'unknown_key'],
    ['a repeated key', 'PATCH', '/v1/apps/quiet', json('{"scope":"group","scope":"public"}'), 422, 'duplicate_key'],
    ['no JSON', 'PATCH', '/v1/apps/quiet', json('{'), 400, 'malformed'],
    ['a weak version', 'POST', '/v1/apps/quiet/stop', { headers: { 'If-Match': 'W/"x"' } }, 412, 'changed'],
    ['a cookie', 'POST', '/v1/apps/quiet/stop', { headers: { cookie: 'a=b' } }, 403, 'forbidden'],
    ['a page', 'POST', '/v1/apps/quiet/stop', { headers: { 'sec-fetch-site': 'same-origin' } }, 403, 'forbidden'],
    ['an id of no event', 'GET', '/v1/apps/quiet/events', { headers: { 'Last-Event-ID': 'x' } }, 400, 'malformed'],
    ['nobody’s sessions', 'DELETE', '/admin/v1/sessions', {}, 403, 'scope_missing'],
    ['a wish without a template', 'POST', '/v1/apps', json({ id: 'new', groupName: 'x' }), 422, 'missing'],
    [
      'a group of others',
      'POST',
      '/v1/apps',
      json({ id: 'new', templateId: 'none', groupName: '..' }),
      403,
      'forbidden',
    ],
  ]

  test('is answered as docs/apps-rest.md says, and leaves nothing behind', async () => {
    await made('quiet', { stop: true })
    await fleet.phase('quiet', 'Stopped')
    const before = await fleet.read('quiet')
    const answers = await Promise.all(
      rows.map(async ([name, method, path, request]) => {
        const { status, body } = await call(1, method, path, 'ann', request)
        return [name, status, body.detail[0].type]
      }),
    )
    expect(answers).toEqual(rows.map(([name, , , , status, type]) => [name, status, type]))
    expect((await fleet.read('quiet')).metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    expect(await shown('quiet')).toMatchObject({ stop: true, env: [] })
  })
})

test('DELETE sessions makes the logins of a user void at gateways', async () => {
  const revoked = await call(0, 'DELETE', '/admin/v1/sessions?user=eve&app=seen', 'root')
  expect(revoked.status).toBe(202)
  expect((await call(0, 'DELETE', '/admin/v1/sessions', 'root')).body.detail[0].type).toBe('missing')
  const redis = new Redis(fleet.redis.url)
  const keys = await redis.keys('*gw:revoked:*')
  redis.disconnect()
  expect(keys.map(key => key.split('gw:')[1])).toEqual(['revoked:entry:seen:eve'])
})

test('the account of the controller reads and changes no Secret, and makes only those of apps', async () => {
  const path = `/api/v1/namespaces/${fleet.of('b')}/secrets`
  const uid = (await fleet.make('foreign', {}, 'b')).metadata.uid!
  const owner = { apiVersion: 'primehub.io/v1alpha1', kind: 'PhApplication', name: 'foreign', uid }
  const labels = { 'primehub.io/phapplication': 'foreign' }
  const name = 'app-foreign-env-0123456789abcdef'
  // Even one that is of an app: a JSON patch of any Secret would show it in the refusal of the API server.
  await fleet.must('POST', path, { metadata: { name, labels, ownerReferences: [owner] }, stringData: { k: marked } })
  const touching = await Promise.all(
    ['GET', 'PATCH', 'DELETE'].map(method =>
      fleet.account.request(method, `${path}/${name}`, method === 'PATCH' ? {} : undefined),
    ),
  )
  touching.push(await fleet.account.request('GET', path))
  expect(touching.map(({ body }) => /cannot \w+ resource "secrets"/.exec(body.message ?? '')?.[0])).toEqual(
    ['get', 'patch', 'delete', 'list'].map(verb => `cannot ${verb} resource "secrets"`),
  )
  const metadata = { name: 'app-foreign-env-fedcba9876543210', labels, ownerReferences: [owner] }
  const making = await Promise.all([
    fleet.account.request('POST', path, { metadata: { ...metadata, name: 'mine' } }),
    fleet.account.request('POST', path, {
      metadata: { ...metadata, annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    }),
  ])
  expect(making.map(({ status }) => status)).toEqual([403, 403])
  expect(JSON.stringify([...touching, ...making])).not.toContain(Buffer.from(marked).toString('base64'))
})

test('each change has a line in the audit log', async () => {
  await made('heard')
  await call(1, 'POST', '/v1/apps/heard/stop', 'ann')
  await call(1, 'POST', '/v1/apps/heard/stop', 'eve')
  const lines = fleet.log().filter(({ log, object }) => log === 'audit' && object.name === 'heard')
  expect(lines.map(({ action, result, reason, actor }) => [action, result, reason, actor.name])).toEqual([
    ['app.stop', 'accepted', undefined, 'ann'],
    ['app.stop', 'refused', 'forbidden', 'eve'],
  ])
})
