import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { tenantsApi, tenantsDocument } from '../../../test/kit/api/tenants-api.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import type { Tenants } from '../../sudo/service.ts'
import { noTenant } from '../../sudo/sudo.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { sudoChanges } from './audit.ts'
import { detailExample, grantExample, listExample } from './words.ts'

const wish = { ttlSeconds: 60, reason: 'the queue is stuck' }
const found: Partial<Tenants> = { list: () => listExample as never, find: () => detailExample as never }

describe('the document of tenants', () => {
  it('is valid OpenAPI', async () => {
    expect(await new Validator().validate(JSON.parse(JSON.stringify(tenantsDocument())))).toMatchObject({ valid: true })
  })

  it('is served without a token', async () => {
    const response = await tenantsApi()('GET', '/openapi.json')
    expect(Object.keys(((await response.json()) as { paths: object }).paths)).toEqual([
      '/tenants/v1/openapi.json',
      '/tenants/v1',
      '/tenants/v1/{name}',
      '/tenants/v1/{name}/sudo',
      '/tenants/v1/{name}/events',
    ])
  })

  it('has no page', async () => {
    expect((await tenantsApi()('GET', '/docs', 'ann')).status).toBe(404)
    expect((await tenantsApi()('GET', '/docs/page.js', 'ann')).status).toBe(404)
  })
})

describe.each([
  ['GET', ''],
  ['GET', '/blue'],
  ['GET', '/blue/events'],
  ['POST', '/blue/sudo'],
  ['DELETE', '/blue/sudo'],
])('%s /tenants/v1%s', (method, path) => {
  const call = tenantsApi(found)
  const body = method === 'POST' ? jsonBody(wish) : {}

  it.each([
    ['without a token', undefined, {}, 401],
    ['with an unknown one', 'nobody', {}, 401],
    ['without the scope', 'guest', {}, 403],
    ['with a cookie', 'ann', { cookie: 'a=b' }, 403],
    ['from a page', 'ann', { 'sec-fetch-site': 'same-origin' }, 403],
    ['from a page of a client without that header', 'ann', { origin: 'https://x.org' }, 403],
    ['with headers of an ingress alone', undefined, { 'x-auth-request-user': 'ann' }, 401],
  ])('is refused %s', async (_, name, headers, status) => {
    const response = await call(method, path, name, {
      ...body,
      headers: { ...body.headers, ...headers } as Record<string, string>,
    })
    expect(response.status).toBe(status)
  })

  it('lacks other methods', async () => {
    expect((await call('PUT', path, 'ann')).status).toBe(405)
    expect((await call('PATCH', path, 'ann')).status).toBe(405)
  })

  it('refuses a name that no namespace can have', async () => {
    if (path === '') return
    const response = await call(method, path.replace('blue', 'Blue'), 'ann', body)
    expect([response.status, (await detailOf(response)).loc]).toEqual([422, ['path', 'name']])
  })
})

describe('GET /tenants/v1', () => {
  it('answers what the service says, and 503 until it knows', async () => {
    expect(await (await tenantsApi(found)('GET', '', 'ann')).json()).toEqual(listExample)
    const list = () => {
      throw unavailable('the watches do not show the cluster yet')
    }
    expect((await tenantsApi({ list })('GET', '', 'ann')).status).toBe(503)
  })

  it('answers 429 when a user reads too often', async () => {
    const call = tenantsApi(found, { api: { rates: { readsPerSecond: 1, burst: 1 } } })
    expect((await call('GET', '', 'ann')).status).toBe(200)
    expect((await call('GET', '', 'ann')).status).toBe(429)
  })
})

describe('GET /tenants/v1/{name}', () => {
  it('answers what the service says', async () => {
    expect(await (await tenantsApi(found)('GET', '/blue', 'ann')).json()).toEqual(detailExample)
    expect((await detailOf(await tenantsApi()('GET', '/blue', 'ann'))).type).toBe('unknown_tenant')
  })
})

describe('POST /tenants/v1/{name}/sudo', () => {
  const grant = vi.fn<Tenants['grant']>(async () => grantExample)

  it('answers 202 with the grant', async () => {
    const response = await tenantsApi({ grant })('POST', '/blue/sudo', 'ann', jsonBody(wish))
    expect([response.status, await response.json()]).toEqual([202, grantExample])
    expect(grant).toHaveBeenCalledWith('blue', expect.objectContaining({ username: 'ann' }), wish)
  })

  it.each([
    ['no time', { reason: 'r' }, ['body', 'ttlSeconds']],
    ['no reason', { ttlSeconds: 1 }, ['body', 'reason']],
    ['an empty reason', { ...wish, reason: '' }, ['body', 'reason']],
    ['a long reason', { ...wish, reason: 'x'.repeat(513) }, ['body', 'reason']],
    ['a reason of two lines', { ...wish, reason: 'a\nb' }, ['body', 'reason']],
    ['a reason with an escape', { ...wish, reason: '\u001b[2K' }, ['body', 'reason']],
    ['a reason that runs the other way', { ...wish, reason: '\u202etxt' }, ['body', 'reason']],
    ['half a character', '{"ttlSeconds": 1, "reason": "\\ud800"}', ['body', 'reason']],
    ['no seconds', { ...wish, ttlSeconds: 0 }, ['body', 'ttlSeconds']],
    ['a part of a second', { ...wish, ttlSeconds: 1.5 }, ['body', 'ttlSeconds']],
    ['a text as the time', { ...wish, ttlSeconds: '60' }, ['body', 'ttlSeconds']],
    ['more than any may have', { ...wish, ttlSeconds: 28_801 }, ['body', 'ttlSeconds']],
    ['another’s name', { ...wish, user: 'max' }, ['body', 'user']],
    ['a list', [], ['body']],
  ])('refuses %s', async (_, body, loc) => {
    grant.mockClear()
    const response = await tenantsApi({ grant })('POST', '/blue/sudo', 'ann', jsonBody(body))
    expect([response.status, (await detailOf(response)).loc]).toEqual([422, loc])
    expect(grant).not.toHaveBeenCalled()
  })

  it.each([
    [403, 'not_eligible'],
    [404, 'sudo_off'],
    [404, 'unknown_tenant'],
    [409, 'not_accepted'],
    [422, 'invalid'],
    [429, 'too_many'],
    [503, 'unavailable'],
  ])('answers %d %s as the service does', async (status, type) => {
    const headers: Record<string, string> = status === 429 || status === 503 ? { 'Retry-After': '1' } : {}
    const refusing = async () => {
      throw new ApiError(status, { msg: 'm', type }, headers)
    }
    const response = await tenantsApi({ grant: refusing })('POST', '/blue/sudo', 'ann', jsonBody(wish))
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it('counts as a change', async () => {
    const call = tenantsApi({ grant }, { api: { rates: { changesPerMinute: 1, burst: 1 } } })
    expect((await call('POST', '/blue/sudo', 'ann', jsonBody(wish))).status).toBe(202)
    expect((await call('POST', '/blue/sudo', 'ann', jsonBody(wish))).status).toBe(429)
    expect((await call('DELETE', '/blue/sudo', 'ann')).status).toBe(429)
  })

  it('refuses a body that is larger than api.limits permit', async () => {
    const call = tenantsApi({ grant }, { api: { limits: { maxBodyBytes: 32 } } })
    expect((await call('POST', '/blue/sudo', 'ann', jsonBody(wish))).status).toBe(413)
  })
})

describe('DELETE /tenants/v1/{name}/sudo', () => {
  it('answers 202 when there was sudo to end, and 404 when there was none', async () => {
    expect((await tenantsApi({ end: async () => true })('DELETE', '/blue/sudo', 'ann')).status).toBe(202)
    expect((await detailOf(await tenantsApi()('DELETE', '/blue/sudo', 'ann'))).type).toBe('no_grant')
    const end = async () => {
      throw noTenant()
    }
    expect((await detailOf(await tenantsApi({ end })('DELETE', '/blue/sudo', 'ann'))).type).toBe('unknown_tenant')
  })
})

describe('GET /tenants/v1/{name}/events', () => {
  const event = { id: '3-1', event: 'granted', data: '{"id":"1"}' } as const
  const events = async () => ({
    read: async function* () {
      yield [event]
    },
  })

  it('sends events to a caller with a role', async () => {
    const response = await tenantsApi({ ...found, events })('GET', '/blue/events', 'ann')
    expect(await response.text()).toBe('retry: 1000\nid: 3-1\nevent: granted\ndata: {"id":"1"}\n\n')
  })

  it('opens the stream in the turn in which it checks the role, so both are of one LNamespace', async () => {
    let isSameTurn = true
    const find = () => {
      queueMicrotask(() => {
        isSameTurn = false
      })
      return detailExample
    }
    const opened: boolean[] = []
    const noted = () => {
      opened.push(isSameTurn)
      return events()
    }
    await tenantsApi({ find, events: noted })('GET', '/blue/events', 'ann')
    expect(opened).toEqual([true])
  })

  it('refuses a caller without one', async () => {
    const find = () => ({ ...detailExample, roles: [] }) as never
    const response = await tenantsApi({ find, events })('GET', '/blue/events', 'ann')
    expect([response.status, (await detailOf(response)).type]).toEqual([403, 'forbidden'])
  })

  it('answers 204 to a client that has all events of an LNamespace that is gone, else 404', async () => {
    const header = { headers: { 'Last-Event-ID': '3-1' } }
    const ended = { events: async () => 'ended' as const }
    expect((await tenantsApi(ended)('GET', '/blue/events', 'ann', header)).status).toBe(204)
    expect((await tenantsApi()('GET', '/blue/events', 'ann')).status).toBe(404)
  })
})

describe('the audit log', () => {
  const lines: AuditEvent[] = []
  const grant = async () => grantExample
  const find = found.find!

  it('has a line for each request for a change, with the reason that the person gave', async () => {
    lines.length = 0
    const call = tenantsApi({ grant, find, end: async () => true }, {}, lines)
    await call('POST', '/blue/sudo', 'ann', {
      ...jsonBody(wish),
      headers: { ...jsonBody(wish).headers, 'X-Request-ID': 'r1' } as Record<string, string>,
    })
    await call('DELETE', '/blue/sudo', 'ann')
    await call('GET', '/blue', 'ann')
    const actor = { kind: 'user', name: 'ann', scope: 'exec:notebook', provider: 'static' }
    const { id, user } = grantExample
    expect(lines).toMatchObject([
      {
        ...{ action: 'sudo.grant', result: 'accepted', actor, stated: wish.reason },
        object: { kind: 'tenant', name: 'blue', user, grant: id },
        request: { id: 'r1', status: 202 },
      },
      { action: 'sudo.end', result: 'accepted', actor, object: { kind: 'tenant', name: 'blue' } },
    ])
  })

  it.each([
    ['without a token', undefined, 'refused', 'unauthorized', 'anonymous'],
    ['without the scope', 'guest', 'refused', 'scope_missing', 'user'],
    ['that fails', 'ann', 'failed', 'internal', 'user'],
  ])('has a line for a request %s', async (_, name, result, reason, kind) => {
    lines.length = 0
    await tenantsApi({ find }, {}, lines)('POST', '/blue/sudo', name, jsonBody(wish))
    expect(lines).toMatchObject([{ action: 'sudo.grant', result, reason, actor: { kind } }])
  })

  it('knows exactly the routes that change something', () => {
    const changing = Object.entries(tenantsDocument().paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter(method => method !== 'get')
        .map(method => `${method.toUpperCase()} ${path.slice('/tenants/v1'.length).replace('{name}', ':name')}`),
    )
    expect(Object.keys(sudoChanges).sort()).toEqual(changing.sort())
  })
})

/** What Schemathesis does to a running API; each answer is held against the document. */
it('every generated request is answered as the document says, and none by an internal error', async () => {
  const grant = async () => grantExample
  const rates = { createsPerMinute: 6e6, changesPerMinute: 6e6, readsPerSecond: 1e5, documentsPerSecond: 1e5 }
  const call = tenantsApi({ ...found, grant, end: async () => true }, { api: { rates } })
  const anyBody = fc.oneof(
    fc.constant(wish),
    fc.record({ ttlSeconds: fc.oneof(fc.integer(), fc.double(), fc.string()), reason: fc.string({ unit: 'binary' }) }),
    fc.jsonValue(),
  )
  const anyName = fc.oneof(
    fc.constantFrom('blue', 'Blue', '-', 'a'.repeat(64), '%20', 'a.b', '__proto__'),
    fc.webSegment(),
  )
  const anyPath = fc.constantFrom('', '/NAME', '/NAME/sudo', '/NAME/events', '/NAME/sudo/more', '/openapi.json')
  const anyMethod = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS')
  const anyRequest = fc.tuple(anyMethod, anyPath, anyName, fc.constantFrom('ann', 'guest', undefined), anyBody)
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(anyRequest, async ([method, path, name, who, body]) => {
      if (name === '' || name === '.' || name === '..') return
      const init = method === 'POST' || method === 'PUT' ? jsonBody(JSON.stringify(body)) : {}
      const response = await call(method, path.replace('NAME', name), who, init)
      statuses.add(response.status)
      expect(response.status).not.toBe(500)
    }),
    { numRuns: 300 },
  )
  expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 404, 405]))
  expect((await call('POST', '/blue/sudo', 'ann', jsonBody(wish))).status).toBe(202)
})
