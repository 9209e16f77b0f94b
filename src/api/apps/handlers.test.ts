import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { appsApi, appsDocument, version } from '../../../test/kit/api/apps-api.ts'
import { detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { changed, idTaken, noApp, noInstanceType, notMember, taken } from '../../appcontrol/problems.ts'
import type { AppFilter, Apps, Asker } from '../../appcontrol/service.ts'
import { RetryLater, unavailable } from '../../base/errors.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { appChanges } from './audit.ts'
import { listExample, podsExample } from './words.ts'

const found: Partial<Apps> = {
  list: () => listExample as never,
  find: () => version,
  create: async () => ({ ...version, isNew: true }),
  pods: () => podsExample.pods as never,
  change: async () => version,
  stop: async () => version,
  delete: async () => version,
}
const apps = found

describe('GET apps', () => {
  it('passes the filter of its query on, for users and administrators', async () => {
    const asked: [Asker['audience'], AppFilter][] = []
    const list: Apps['list'] = ({ audience }, filter) => {
      asked.push([audience, filter])
      return listExample as never
    }
    const call = appsApi({ apps: { list } })
    await call('GET', '/apps', 'ann')
    await call('GET', '/apps?group=a%20b%26c&phase=Ready&limit=7&cursor=m', 'ann')
    await call('GET', '/admin/apps?group=%C3%A9+x', 'root')
    expect(asked).toEqual([
      ['user', { limit: 100 }],
      ['user', { group: 'a b&c', phase: 'Ready', limit: 7, cursor: 'm' }],
      ['admin', { group: 'é x', limit: 100 }],
    ])
  })

  it.each([
    ['limit=0', 422, 'invalid'],
    ['limit=201', 422, 'invalid'],
    ['limit=1e2', 422, 'invalid'],
    ['limit=0x10', 422, 'invalid'],
    ['limit=', 422, 'invalid'],
    ['limit=1&limit=2', 422, 'invalid'],
    ['phase=ready', 422, 'invalid'],
    ['group=', 422, 'invalid'],
    ['cursor=A', 422, 'invalid'],
    ['colour=red', 422, 'unknown_key'],
    ['__proto__=1', 422, 'unknown_key'],
    ['constructor=1', 422, 'unknown_key'],
    ['group=%ff', 400, 'malformed'],
    ['%=1', 400, 'malformed'],
  ])('refuses the query %s', async (query, status, type) => {
    const response = await appsApi({ apps })('GET', `/apps?${query}`, 'ann')
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })
})

describe('GET apps/{id}', () => {
  it('answers with the version of what is wished', async () => {
    const response = await appsApi({ apps })('GET', '/apps/mlflow', 'ann')
    expect([response.status, response.headers.get('etag')]).toEqual([200, '"uid.3"'])
  })

  it.each([
    [404, 'unknown_app', noApp()],
    [403, 'forbidden', notMember('physics')],
    [503, 'unavailable', unavailable('the watches do not show the cluster yet')],
  ])('answers %d %s as the service does', async (status, type, error) => {
    const find = () => {
      throw error
    }
    for (const path of ['/apps/mlflow', '/admin/apps/mlflow']) {
      if (status === 403 && path.startsWith('/admin')) continue
      const response = await appsApi({ apps: { find } })('GET', path, path.startsWith('/admin') ? 'root' : 'ann')
      expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
    }
  })

  it.each(['Mlflow', '1a', 'a_b', 'a'.repeat(51), '-a', 'a-', 'a.b', '%C3%A9', 'a%2Fb'])(
    'refuses the id %s',
    async id => {
      const response = await appsApi({ apps })('GET', `/apps/${id}`, 'ann')
      expect([response.status, (await detailOf(response)).loc]).toEqual([422, ['path', 'id']])
    },
  )
})

describe('the pods and the activity of an app', () => {
  it('are shown to whoever sees the app', async () => {
    const call = appsApi({ apps, activity: { find: async () => ({ kind: 'app', id: 'mlflow', state: 'idle' }) } })
    expect((await call('GET', '/apps/mlflow/pods', 'ann')).status).toBe(200)
    expect(await (await call('GET', '/apps/mlflow/activity', 'ann')).json()).toMatchObject({ state: 'idle' })
    expect((await call('GET', '/admin/apps/mlflow/activity', 'root')).status).toBe(200)
  })

  it('are 404 without the app, and activity without the idle engine', async () => {
    const activity = { find: async () => undefined }
    expect((await appsApi()('GET', '/apps/mlflow/pods', 'ann')).status).toBe(404)
    expect((await appsApi({ activity })('GET', '/apps/mlflow/activity', 'ann')).status).toBe(404)
    expect((await detailOf(await appsApi({ apps, activity })('GET', '/apps/mlflow/activity', 'ann'))).type).toBe(
      'unknown_workload',
    )
    expect((await detailOf(await appsApi({ apps })('GET', '/apps/mlflow/activity', 'ann'))).type).toBe('not_found')
  })
})

describe('POST apps', () => {
  const body = { id: 'mlflow', templateId: 'mlflow', groupName: 'physics' }
  const post = (sent: unknown, script: Partial<Apps> = found, config = {}) =>
    appsApi({ apps: script, config })('POST', '/apps', 'ann', jsonBody(sent))

  it('passes the wish on, and tells a new app from one that is there', async () => {
    const asked: unknown[] = []
    const create: Apps['create'] = async (wish, { caller, audience }) => {
      asked.push([wish, caller.username, audience])
      return { ...version, isNew: asked.length === 1 }
    }
    const whole = { ...body, displayName: 'x', instanceType: '', scope: 'public', env: [{ name: 'A', value: 'é' }] }
    const answers = [await post(whole, { create }), await post(body, { create })]
    expect(answers.map(({ status, headers }) => [status, headers.get('etag')])).toEqual([
      [201, '"uid.3"'],
      [200, '"uid.3"'],
    ])
    expect(asked).toEqual([
      [whole, 'ann', 'user'],
      [body, 'ann', 'user'],
    ])
  })

  it.each([
    ['no id', { id: undefined }, 'missing'],
    ['an id in capitals', { id: 'Mlflow' }, 'invalid'],
    ['an id of 51 characters', { id: 'a'.repeat(51) }, 'invalid'],
    ['no template', { templateId: undefined }, 'missing'],
    ['a template with a path in it', { templateId: '../x' }, 'invalid'],
    ['no group', { groupName: '' }, 'invalid'],
    ['a group of 254 characters', { groupName: 'g'.repeat(254) }, 'invalid'],
    ['a group with a line break', { groupName: 'a\nb' }, 'invalid'],
    ['an invisible character in the group', { groupName: 'a\u200bb' }, 'invalid'],
    ['a scope that there is not', { scope: 'all' }, 'invalid'],
    ['a name of the platform', { env: [{ name: 'PRIMEHUB_URL', value: 'x' }] }, 'invalid'],
    ['a reference', { env: [{ name: 'A', valueFrom: {} }] }, 'unknown_key'],
    ['a pod', { podTemplate: {} }, 'unknown_key'],
    ['a namespace', { namespace: 'kube-system' }, 'unknown_key'],
    ['1025 values', { env: Array.from({ length: 520 }, (_, i) => ({ name: `A${i}`, value: '' })) }, 'too_large'],
  ])('answers 422 to %s', async (_, more, type) => {
    const response = await post({ ...body, ...more })
    expect([response.status, (await detailOf(response)).type]).toEqual([422, type])
  })

  it.each([
    [409, 'conflict', idTaken()],
    [403, 'forbidden', notMember('physics', 'body', 'groupName')],
    [422, 'invalid', noInstanceType(['small'])],
    [503, 'unavailable', unavailable('the namespace of the group is not there')],
  ])('answers %d %s as the service does', async (status, type, error) => {
    const create = async () => {
      throw error
    }
    const response = await post(body, { create })
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it('counts as a creation', async () => {
    const call = appsApi({ apps, config: { api: { rates: { createsPerMinute: 1, burst: 1 } } } })
    const statuses = [1, 2].map(async () => (await call('POST', '/apps', 'ann', jsonBody(body))).status)
    expect(await Promise.all(statuses)).toEqual([201, 429])
  })
})

describe('PATCH apps/{id}', () => {
  const patch = (body: unknown, script = { apps }, headers: Record<string, string> = {}) =>
    appsApi(script)('PATCH', '/apps/mlflow', 'ann', {
      ...jsonBody(body),
      headers: { ...(jsonBody(body).headers as object), ...headers },
    })

  it('passes body and version on', async () => {
    const asked: unknown[] = []
    const change: Apps['change'] = async (id, { caller }, change, ifMatch) => {
      asked.push([id, caller.username, change, ifMatch])
      return version
    }
    const body = { displayName: 'x', scope: 'public', instanceType: '', env: [{ name: 'A', value: '' }, { name: 'B' }] }
    const response = await patch(body, { apps: { change } }, { 'If-Match': '"uid.3"' })
    expect([response.status, response.headers.get('etag')]).toEqual([202, '"uid.3"'])
    expect(asked).toEqual([['mlflow', 'ann', body, '"uid.3"']])
  })

  it.each([
    ['id', { id: 'x' }, 'unknown_key'],
    ['groupName', { groupName: 'x' }, 'unknown_key'],
    ['templateId', { templateId: 'x' }, 'unknown_key'],
    ['stop', { stop: true }, 'unknown_key'],
    ['a scope', { scope: 'all' }, 'invalid'],
    ['a long name', { displayName: 'x'.repeat(254) }, 'invalid'],
    ['a control character', { displayName: 'a\nb' }, 'invalid'],
    ['a lone surrogate', '{"displayName":"\\ud800"}', 'invalid'],
    ['an instance type of another type', { instanceType: 1 }, 'invalid'],
    ['env as an object', { env: { A: '1' } }, 'invalid'],
    ['a bad name', { env: [{ name: 'A-B', value: '1' }] }, 'invalid'],
    ['no name', { env: [{ value: '1' }] }, 'missing'],
    ['a name of the platform', { env: [{ name: 'PRIMEHUB_APP_ID', value: '1' }] }, 'invalid'],
    [
      'a repeated name',
      {
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      'invalid',
    ],
    ['NUL', { env: [{ name: 'A', value: '\0' }] }, 'invalid'],
    ['a reference', { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }, 'unknown_key'],
    [
      'many bytes',
      { env: Array.from({ length: 7 }, (_, i) => ({ name: `A${i}`, value: 'x'.repeat(31_000) })) },
      'invalid',
    ],
    ['a list', [], 'invalid'],
  ])('answers 422 to %s', async (_, body, type) => {
    const response = await patch(body)
    expect([response.status, (await detailOf(response)).type]).toEqual([422, type])
  })

  it.each([
    [412, 'changed', changed('app')],
    [409, 'conflict', taken('app-mlflow-env-8c1f0a9b2d3e4f57')],
    [404, 'unknown_app', noApp()],
    [503, 'unavailable', new RetryLater('the API server does not answer')],
  ])('answers %d %s as the service does', async (status, type, error) => {
    const change = async () => {
      throw error
    }
    const response = await patch({}, { apps: { change } })
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it('refuses a body that is no JSON, or too large', async () => {
    const call = appsApi({ apps, config: { api: { limits: { maxBodyBytes: 32 } } } })
    expect((await call('PATCH', '/apps/mlflow', 'ann', jsonBody('{'))).status).toBe(400)
    expect((await call('PATCH', '/apps/mlflow', 'ann', { body: '{}' })).status).toBe(415)
    expect((await call('PATCH', '/apps/mlflow', 'ann', jsonBody({ displayName: 'x'.repeat(40) }))).status).toBe(413)
  })
})

describe('start, stop and DELETE', () => {
  it('pass the version on, and answer 202', async () => {
    const asked: unknown[] = []
    const script: Partial<Apps> = {
      stop: async (id, _asker, stop, ifMatch) => {
        asked.push([id, stop, ifMatch])
        return version
      },
      delete: async (id, { audience }, ifMatch) => {
        asked.push([id, audience, ifMatch])
        return version
      },
    }
    const call = appsApi({ apps: script })
    const headers = { 'If-Match': '*' }
    const answers = [
      await call('POST', '/apps/a/start', 'ann'),
      await call('POST', '/apps/a/stop', 'ann', { headers }),
      await call('DELETE', '/admin/apps/a', 'root', { headers }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202])
    expect(asked).toEqual([
      ['a', false, undefined],
      ['a', true, '*'],
      ['a', 'admin', '*'],
    ])
  })

  it('count as changes', async () => {
    const call = appsApi({ apps, config: { api: { rates: { changesPerMinute: 2, burst: 1 } } } })
    expect((await call('POST', '/apps/a/start', 'ann')).status).toBe(202)
    expect((await call('POST', '/apps/a/stop', 'ann')).status).toBe(202)
    expect((await call('POST', '/apps/a/stop', 'ann')).status).toBe(429)
    expect((await call('DELETE', '/apps/a', 'ann')).status).toBe(429)
    expect((await call('PATCH', '/apps/a', 'ann', jsonBody({}))).status).toBe(429)
  })
})

describe('DELETE sessions', () => {
  it('revokes by user, app or both, for administrators alone', async () => {
    const revoked: unknown[] = []
    const call = appsApi({ revoke: async what => void revoked.push(what) })
    const statuses = []
    for (const query of ['user=ada', 'app=mlflow', 'user=a%20b&app=x'])
      statuses.push((await call('DELETE', `/admin/sessions?${query}`, 'root')).status)
    expect(statuses).toEqual([202, 202, 202])
    expect(revoked).toEqual([{ user: 'ada' }, { appId: 'mlflow' }, { user: 'a b', appId: 'x' }])
    expect((await call('DELETE', '/admin/sessions?user=ada', 'ann')).status).toBe(403)
    expect((await call('DELETE', '/sessions?user=ada', 'ann')).status).toBe(404)
    expect(revoked).toHaveLength(3)
  })

  it.each([
    ['', 422, 'missing'],
    ['?user=', 422, 'invalid'],
    ['?app=A', 422, 'invalid'],
    ['?user=a&user=b', 422, 'invalid'],
    ['?user=a%0Ab', 422, 'invalid'],
    ['?usr=a', 422, 'unknown_key'],
    ['?user=%e0', 400, 'malformed'],
  ])('revokes nothing by the query %j', async (query, status, type) => {
    const revoke = async () => {
      throw new Error('revoked')
    }
    const response = await appsApi({ revoke })('DELETE', `/admin/sessions${query}`, 'root')
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })
})

describe('GET apps/{id}/events', () => {
  const event = { id: '17-1', event: 'phase', data: '{"phase":"Ready","message":""}' } as const
  const events: Apps['events'] = async () => ({
    read: async function* () {
      yield [event]
    },
  })

  it('sends events', async () => {
    const response = await appsApi({ apps: { events } })('GET', '/apps/a/events', 'ann')
    expect(await response.text()).toBe(`retry: 1000\nid: 17-1\nevent: phase\ndata: ${event.data}\n\n`)
  })

  it('answers 404 without the app, and 204 to a client that has all', async () => {
    expect((await appsApi()('GET', '/apps/a/events', 'ann')).status).toBe(404)
    expect((await appsApi({ apps: { events: async () => null } })('GET', '/apps/a/events', 'ann')).status).toBe(404)
    expect((await appsApi({ apps: { events: async () => 'ended' } })('GET', '/apps/a/events', 'ann')).status).toBe(204)
  })
})

describe('callers', () => {
  const routes = [
    ...[
      ['GET', '/apps'],
      ['GET', '/apps/a'],
      ['GET', '/apps/a/pods'],
      ['GET', '/apps/a/events'],
    ],
    ...[
      ['GET', '/templates'],
      ['GET', '/templates/a'],
      ['POST', '/apps'],
    ],
    ...[
      ['DELETE', '/apps/a'],
      ['POST', '/apps/a/start'],
      ['POST', '/apps/a/stop'],
      ['PATCH', '/apps/a'],
    ],
  ] as [string, string][]
  const ofAdmins = [
    ['DELETE', '/sessions?user=a'],
    ['PUT', '/templates/a'],
    ['DELETE', '/templates/a'],
  ] as [string, string][]
  const admin = [...routes, ...ofAdmins]
  const send = async (path: string, method: string, name?: string, headers: Record<string, string> = {}) => {
    const body = ['PATCH', 'POST', 'PUT'].includes(method) ? jsonBody({}) : {}
    const init = { ...body, headers: { ...(body.headers as object), ...headers } }
    return appsApi({ apps })(method, path, name, init)
  }

  it.each(routes)('%s %s is open to users with the scope exec:notebook alone', async (method, path) => {
    expect((await send(path, method)).status).toBe(401)
    for (const name of ['guest', 'root']) expect((await send(path, method, name)).status).toBe(403)
  })

  it.each(admin)('%s %s of administrators is open to them alone', async (method, path) => {
    expect((await send(`/admin${path}`, method)).status).toBe(401)
    for (const name of ['guest', 'ann']) expect((await send(`/admin${path}`, method, name)).status).toBe(403)
  })

  it.each(routes)('%s %s takes no cookie and no page', async (method, path) => {
    const answers = await Promise.all(
      [{ cookie: 'a=b' }, { 'sec-fetch-site': 'same-origin' }, { origin: 'https://hub.example.org' }].map(headers =>
        send(path, method, 'ann', headers as never),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
  })
})

describe('the audit log', () => {
  it('has a line for each change, with who, what and whom', async () => {
    const lines: AuditEvent[] = []
    const call = appsApi({ apps, lines })
    await call('POST', '/apps', 'ann', jsonBody({ id: 'a', templateId: 't', groupName: 'g' }))
    await call('POST', '/apps/a/start', 'ann')
    await call('POST', '/apps/a/stop', 'ann')
    await call('PATCH', '/admin/apps/a', 'root', jsonBody({ env: [{ name: 'A_TOKEN', value: 'marked-secret' }] }))
    await call('DELETE', '/apps/a', 'ann')
    await call('DELETE', '/admin/sessions?user=ada&app=b', 'root')
    await call('PUT', '/admin/templates/t', 'root', jsonBody({ name: 'T', template: { spec: {} } }))
    await call('DELETE', '/admin/templates/t', 'root')
    await call('GET', '/apps/a', 'ann')
    const ann = { kind: 'user', name: 'ann', scope: 'exec:notebook' }
    const root = { kind: 'administrator', name: 'root', scope: 'admin:jupyterlab' }
    const object = { kind: 'app', name: 'a' }
    expect(lines).toMatchObject([
      { action: 'app.create', result: 'accepted', actor: ann, object },
      { action: 'app.start', result: 'accepted', actor: ann, object },
      { action: 'app.stop', result: 'accepted', actor: ann, object },
      { action: 'app.change', result: 'accepted', actor: root, object },
      { action: 'app.delete', result: 'accepted', actor: ann, object },
      { action: 'session.revoke', actor: root, object: { kind: 'session', user: 'ada', name: 'b' } },
      { action: 'template.put', result: 'refused', actor: root, object: { kind: 'template', name: 't' } },
      { action: 'template.delete', result: 'refused', actor: root, object: { kind: 'template', name: 't' } },
    ])
    expect(JSON.stringify(lines)).not.toContain('marked-secret')
  })

  it.each([
    ['without a token', undefined, 'unauthorized', 'anonymous'],
    ['without the scope', 'guest', 'scope_missing', 'user'],
    ['about no app', 'ann', 'unknown_app', 'user'],
  ])('has a line for a request %s', async (_, name, reason, kind) => {
    const lines: AuditEvent[] = []
    await appsApi({ lines })('POST', '/apps/a/stop', name)
    expect(lines).toMatchObject([{ action: 'app.stop', result: 'refused', reason, actor: { kind } }])
  })

  it('knows exactly the routes that change something', () => {
    // A mutation of GraphQL has a line of its own.
    const paths = Object.entries(appsDocument().paths as Record<string, object>).filter(
      ([path]) => !path.endsWith('/graphql'),
    )
    const changing = paths.flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter(method => method !== 'get')
        .map(method => `${method.toUpperCase()} ${path.replace(/^\/apps\/(admin\/)?v1/, '').replace('{id}', ':id')}`),
    )
    expect(Object.keys(appChanges).sort()).toEqual([...new Set(changing)].sort())
  })
})

/** What Schemathesis does to a running API; each answer is held against the document. */
test('every generated request is answered as the document says, and none by an internal error', async () => {
  const rates = { createsPerMinute: 6e6, changesPerMinute: 6e6, readsPerSecond: 1e5, documentsPerSecond: 1e5 }
  const call = appsApi({ apps, config: { api: { rates } } })
  const anyBody = fc.oneof(
    fc.record({ displayName: fc.string({ unit: 'binary' }), env: fc.array(fc.record({ name: fc.string() })) }),
    fc.jsonValue(),
  )
  const anyId = fc.oneof(
    fc.constantFrom('mlflow', 'A', '-', 'a'.repeat(64), '%20', 'a.b', '__proto__'),
    fc.webSegment(),
  )
  const anyPath = fc.constantFrom(
    ...['/apps', '/apps/ID', '/apps/ID/start', '/apps/ID/stop', '/apps/ID/pods', '/apps/ID/activity', '/openapi.json'],
    ...['/admin/apps', '/admin/apps/ID', '/admin/sessions', '/apps/ID/more', ''],
    ...['/templates', '/templates/ID', '/admin/templates/ID'],
  )
  const anyQuery = fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map(query => `?${query}`),
  )
  const anyMethod = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS')
  const anyRequest = fc.tuple(anyMethod, anyPath, anyId, anyQuery, fc.constantFrom('ann', 'root', undefined), anyBody)
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(anyRequest, async ([method, path, id, query, who, body]) => {
      if (id === '' || id === '.' || id === '..') return
      const init = ['PATCH', 'PUT', 'POST'].includes(method) ? jsonBody(JSON.stringify(body)) : {}
      const response = await call(method, `${path.replace('ID', id)}${query}`, who, init)
      statuses.add(response.status)
      expect(response.status).not.toBe(500)
    }),
    { numRuns: 400 },
  )
  expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 404, 405, 422]))
})
