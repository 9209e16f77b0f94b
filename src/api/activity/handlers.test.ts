import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { activityApi, activityDocument, labToken, scriptedActivity } from '../../../test/kit/api/activity-api.ts'
import { badInput } from '../../../test/kit/api/activity-bad-input.ts'
import { api, detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { RetryLater } from '../../base/errors.ts'
import { idle } from '../../config/idle.ts'
import type { ActivityService, Whose } from '../../idle/rest/service.ts'
import { keptExample, stateExample } from './words.ts'

const keep = jsonBody({ seconds: 60 })
const found: Partial<ActivityService> = { find: async () => stateExample }
const working: Partial<ActivityService> = {
  ...found,
  push: async () => 'noted',
  keep: async () => keptExample,
  release: async () => 'released',
}

/** Each route of a workload, with a path of each audience. */
const requests = [
  ['GET', '', {}, 200],
  ['POST', '/activity', {}, 204],
  ['POST', '/keep-alive', keep, 200],
  ['DELETE', '/keep-alive', {}, 204],
] as const
const own = ['/v1/lab/rra', '/v1/app/rra-viewer', '/v1/notebook/blue/rra-sky', '/v1/statefulset/blue/rra-sky'] as const
const ofOthers = ['/v1/lab/hub', '/v1/app/viewer', '/v1/notebook/blue/sky', '/v1/statefulset/blue/sky'] as const
const asAdmin = ofOthers.map(path => `/admin${path}`)

describe('the document with activity', () => {
  const document = activityDocument()

  it('is valid OpenAPI', async () => {
    expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toMatchObject({ valid: true })
  })

  it('has each operation under a name of its own', () => {
    const operations = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
    const ids = operations.flatMap(methods => Object.values(methods).map(({ operationId }) => operationId))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(['getLabActivity', 'keepNotebookAliveAsAdmin', 'reportActivityFromLab']))
  })

  it('lacks the routes when they are off', async () => {
    expect((await api()('GET', '/activity/v1/lab/rra', 'rra')).status).toBe(404)
  })

  it('lacks the routes of labs where labs are not served', async () => {
    const call = activityApi({ ...working, kinds: ['notebook'] })
    expect((await requestWithoutDocument(call, '/lab/v1/rra')).status).toBe(404)
  })
})

/** The document of the kit has all kinds: a route that is not there has no entry. */
const requestWithoutDocument = async (call: ReturnType<typeof activityApi>, path: string) =>
  call('GET', path, 'lab').catch(error => {
    expect(String(error)).toMatch(/was answered 404/)
    return new Response(null, { status: 404 })
  })

describe.each(requests)('%s of a workload, at %j', (method, end, init, status) => {
  it.each(own)('answers its owner at %s', async path => {
    expect((await activityApi(working)(method, path + end, 'rra', init)).status).toBe(status)
  })

  it.each(asAdmin)('answers an administrator at %s', async path => {
    expect((await activityApi(working)(method, path + end, 'hub', init)).status).toBe(status)
  })

  it('answers the lab itself', async () => {
    expect((await activityApi(working)(method, `/lab/v1/rra${end}`, 'lab', init)).status).toBe(status)
  })

  it('refuses another user’s lab, and says nothing of other kinds', async () => {
    const call = activityApi(working)
    const [lab, ...others] = ofOthers
    expect((await call(method, lab + end, 'rra', init)).status).toBe(403)
    for (const path of others) expect((await call(method, path + end, 'rra', init)).status).toBe(404)
  })

  it.each([...own, ...asAdmin, '/lab/v1/rra'])('refuses strangers, and other scopes, at %s', async path => {
    const call = activityApi(working)
    expect((await call(method, path + end, undefined, init)).status).toBe(401)
    expect((await call(method, path + end, 'nobody', init)).status).toBe(401)
    const guest = await call(method, path + end, 'guest', init)
    expect(guest.status).toBe(path.startsWith('/lab') ? 401 : 403)
    const other = await call(method, path + end, path.startsWith('/admin') ? 'rra' : 'hub', init)
    expect([401, 403]).toContain(other.status)
  })

  it('answers 404 where nothing runs', async () => {
    const response = await activityApi()(method, `/v1/lab/rra${end}`, 'rra', init)
    expect([response.status, (await detailOf(response)).type]).toEqual([404, 'unknown_workload'])
  })

  it('answers 503 while Redis does not answer', async () => {
    const away = async () => {
      throw new RetryLater('Redis does not answer')
    }
    const call = activityApi({ find: away, push: away, keep: away, release: away })
    const response = await call(method, `/v1/lab/rra${end}`, 'rra', init)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  })

  it('lacks other methods', async () => {
    for (const path of ['/v1/lab/rra', '/admin/v1/notebook/blue/sky', '/lab/v1/rra']) {
      expect((await activityApi(working)('PUT', path + end, 'rra')).status).toBe(405)
    }
  })
})

describe('a token of a lab', () => {
  const verifyLab = vi.fn(async (username: string, token: string) => username === 'rra' && token === labToken)

  it.each([
    ['of another user’s lab', '/lab/v1/hub'],
    ['for the route of users', '/v1/lab/rra'],
    ['for that of administrators', '/admin/v1/lab/rra'],
    ['for the labs of SQR-066', '/v1/lab/rra/keep-alive'],
  ])('opens nothing: %s', async (_, path) => {
    expect((await activityApi({ ...working, verifyLab })('GET', path, 'lab')).status).toBe(
      path.endsWith('e') ? 405 : 401,
    )
  })

  it('of an older lab opens nothing, and no change reaches the service', async () => {
    const push = vi.fn(async () => 'noted' as const)
    const call = activityApi({ ...working, push, verifyLab: async () => false })
    expect((await call('POST', '/lab/v1/rra/activity', 'lab')).status).toBe(401)
    expect(push).not.toHaveBeenCalled()
  })

  it('is not looked at without a bearer, or for a name that no user can have', async () => {
    verifyLab.mockClear()
    const call = activityApi({ ...working, verifyLab })
    expect((await call('GET', '/lab/v1/rra')).status).toBe(401)
    expect((await call('GET', '/lab/v1/a%3Ab', 'lab')).status).toBe(422)
    expect((await call('GET', '/lab/v1/a%2Fb', 'lab')).status).toBe(422)
    expect(verifyLab).not.toHaveBeenCalled()
  })

  it('cannot be checked while Redis is away: 503', async () => {
    const away = async () => {
      throw new RetryLater('Redis does not answer')
    }
    expect((await activityApi({ verifyLab: away })('GET', '/lab/v1/rra', 'lab')).status).toBe(503)
  })

  it('counts in the rate of the lab’s user', async () => {
    const call = activityApi(working, {}, { rates: { changesPerMinute: 1, burst: 1 } })
    expect((await call('POST', '/lab/v1/rra/activity', 'lab')).status).toBe(204)
    expect((await call('POST', '/v1/lab/rra/activity', 'rra')).status).toBe(429)
  })

  it('is not asked for its ingress unless the provider has one', async () => {
    const requireLab = () => {
      throw new RetryLater('asked')
    }
    const identity = { identify: async () => Promise.reject(new Error('not for this')), requireLab }
    expect((await activityApi(working, { identity })('GET', '/lab/v1/rra', 'lab')).status).toBe(503)
  })
})

describe('hostile names in paths', () => {
  const anything = vi.fn(async () => stateExample)

  it.each([
    ['/admin/v1/lab/a%2Fb', 422],
    ['/admin/v1/lab/a%3Ab', 422],
    ['/admin/v1/lab/a%0Ab', 422],
    ['/admin/v1/notebook/blue/a%2Fb', 422],
    ['/admin/v1/notebook/blue%2Fx/sky', 422],
    ['/admin/v1/notebook/Blue/sky', 422],
    ['/admin/v1/notebook/blue', 404],
    ['/admin/v1/notebook/blue/sky/more', 404],
    [`/admin/v1/app/${'a'.repeat(254)}`, 422],
    ['/admin/v1/app/__proto__', 422],
    ['/admin/v1/constructor/x', 404],
    ['/admin/v1/lab/', 404],
  ])('%s is answered %d, and the service is not asked', async (path, status) => {
    anything.mockClear()
    expect((await activityApi({ find: anything })('GET', path, 'hub')).status).toBe(status)
    expect(anything).not.toHaveBeenCalled()
  })

  it.each([
    ['/admin/v1/lab/a%20b%25', { kind: 'lab', id: 'a b%' }],
    ['/admin/v1/lab/..%2e', { kind: 'lab', id: '...' }],
    ['/admin/v1/notebook/blue/keep-alive', { kind: 'notebook', id: 'blue/keep-alive' }],
    ['/admin/v1/notebook/activity/activity', { kind: 'notebook', id: 'activity/activity' }],
    ['/admin/v1/app/events', { kind: 'app', id: 'events' }],
  ])('%s is decoded once', async (path, workload) => {
    anything.mockClear()
    expect((await activityApi({ find: anything })('GET', path, 'hub')).status).toBe(200)
    expect(anything).toHaveBeenCalledWith(workload)
  })
})

describe('POST …/keep-alive', () => {
  const post = (body: unknown, script: Partial<ActivityService> = working) =>
    activityApi(script)('POST', '/v1/lab/rra/keep-alive', 'rra', jsonBody(body))

  it('answers what was granted', async () => {
    const asked = vi.fn<ActivityService['keep']>(async () => keptExample)
    const response = await post({ seconds: 86_400 }, { keep: asked })
    expect([response.status, await response.json()]).toEqual([200, keptExample])
    expect(asked).toHaveBeenCalledWith({ kind: 'lab', id: 'rra' }, 86_400)
  })

  it.each([
    ['nothing', {}, ['body', 'seconds']],
    ['no time', { seconds: 0 }, ['body', 'seconds']],
    ['a time before now', { seconds: -1 }, ['body', 'seconds']],
    ['a part of a second', { seconds: 1.5 }, ['body', 'seconds']],
    ['a text', { seconds: '60' }, ['body', 'seconds']],
    ['more than a year', { seconds: 31_536_001 }, ['body', 'seconds']],
    ['no number', '{"seconds": 1e999}', ['body', 'seconds']],
    ['an end', { until: '2099-01-01T00:00:00Z' }, ['body', 'seconds']],
    ['more keys', { seconds: 1, user: 'hub' }, ['body', 'user']],
    ['a list', [60], ['body']],
  ])('refuses %s', async (_, body, loc) => {
    const response = await post(body)
    expect([response.status, (await detailOf(response)).loc]).toEqual([422, loc])
  })

  it.each([
    ['stopping', 409, 'stopping'],
    ['off', 403, 'keep_alive_off'],
    ['none', 404, 'unknown_workload'],
  ] as const)('answers %s by %d', async (outcome, status, type) => {
    const response = await post({ seconds: 60 }, { keep: async () => outcome })
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it('counts as a change, and its body in the bound of all bodies', async () => {
    const call = activityApi(working, {}, { rates: { changesPerMinute: 1, burst: 1 }, limits: { maxBodyBytes: 32 } })
    const large = jsonBody({ seconds: 60, note: 'x'.repeat(100) })
    expect((await call('POST', '/v1/lab/rra/keep-alive', 'rra', large)).status).toBe(413)
    expect((await call('POST', '/v1/lab/rra/keep-alive', 'rra', keep)).status).toBe(429)
  })
})

describe('bad input', () => {
  it.each(badInput)('is answered $status $type, and changes nothing: $sent', async each => {
    const { method, path, who, body, bodyType = 'application/json', status, type, loc } = each
    const init = body === undefined ? {} : { body, headers: { 'Content-Type': bodyType } }
    const change = vi.fn(async () => 'none' as const)
    const call = activityApi({ push: change, keep: change, release: change })
    const response = await call(method, path, who, init)
    const detail = await detailOf(response)
    expect([response.status, detail.type, detail.loc]).toEqual([status, type, loc])
    expect(change).not.toHaveBeenCalled()
  })
})

describe('changes', () => {
  it.each(requests.slice(1))('%s %s is answered 409 while it is stopping', async (method, end, init) => {
    const stopping = async () => 'stopping' as const
    const call = activityApi({ push: stopping, keep: stopping, release: stopping })
    expect((await detailOf(await call(method, `/v1/lab/rra${end}`, 'rra', init))).type).toBe('stopping')
  })
})

describe('lists', () => {
  it('name the path of the next page', async () => {
    const list = vi.fn<ActivityService['list']>(async () => ({ workloads: [stateExample], after: 'blue/sky' }))
    const call = activityApi({ list })
    const first = (await (await call('GET', '/admin/v1/notebook', 'hub')).json()) as { next: string }
    expect(first).toEqual({ workloads: [stateExample], next: '/activity/admin/v1/after/notebook/blue/sky' })
    expect((await call('GET', first.next.slice('/activity'.length), 'hub')).status).toBe(200)
    expect(list.mock.calls).toEqual([
      ['notebook', undefined],
      ['notebook', 'blue/sky'],
    ])
  })

  it('write names of users so that the path is theirs again', async () => {
    const list = vi.fn<ActivityService['list']>(async () => ({ workloads: [], after: 'a b%é' }))
    const call = activityApi({ list })
    const { next } = (await (await call('GET', '/admin/v1/lab', 'hub')).json()) as { next: string }
    await call('GET', next.slice('/activity'.length), 'hub')
    expect(list).toHaveBeenLastCalledWith('lab', 'a b%é')
  })

  it('are for administrators', async () => {
    for (const path of ['/admin/v1/lab', '/admin/v1/after/lab/rra', '/admin/v1/policy', '/admin/v1/events']) {
      expect((await activityApi()('GET', path, 'rra')).status).toBe(403)
    }
  })
})

it('GET /activity/admin/v1/policy shows the rules as configured', async () => {
  const { rules, ...rest } = idle.parse({
    rules: [{ name: 'gpu', match: { sizes: ['gpu-*'] }, idleTimeoutSeconds: 3600 }, { name: 'all' }],
  })
  const policy = () => ({ ...scriptedActivity().policy(), rules, checkPeriodSeconds: rest.checkPeriodSeconds })
  const answer = await (await activityApi({ policy })('GET', '/admin/v1/policy', 'hub')).json()
  expect(answer).toMatchObject({
    checkPeriodSeconds: 60,
    rules: [{ name: 'gpu', match: { sizes: ['gpu-*'] }, idleTimeoutSeconds: 3600 }, { name: 'all' }],
  })
})

describe('GET …/events', () => {
  const event = { id: '17-1', event: 'warning', data: '{"kind":"lab","id":"rra"}' }
  const asked: (Whose | string | undefined)[] = []
  const events: ActivityService['events'] = async (whose, lastEventId) => {
    asked.splice(0, 2, whose, lastEventId)
    return {
      read: async function* () {
        yield [event]
      },
    }
  }

  it.each([
    ['/v1/events', 'rra', { user: 'rra' }],
    ['/admin/v1/events', 'hub', 'everybody'],
    ['/lab/v1/rra/events', 'lab', { lab: 'rra' }],
  ])('%s sends events of the caller alone', async (path, who, whose) => {
    const response = await activityApi({ events })('GET', path, who, { headers: { 'Last-Event-ID': '16-2' } })
    expect(await response.text()).toBe(`retry: 1000\nid: 17-1\nevent: warning\ndata: ${event.data}\n\n`)
    expect(asked).toEqual([whose, '16-2'])
  })

  it('is one of the streams that a user may have open', async () => {
    const endless: ActivityService['events'] = async () => ({
      read: async function* (signal) {
        yield [event]
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      },
    })
    const call = activityApi({ events: endless }, {}, { limits: { maxStreamsPerUser: 1 } })
    const open = await call('GET', '/v1/events', 'rra')
    expect((await call('GET', '/lab/v1/rra/events', 'lab')).status).toBe(429)
    await open.body!.cancel()
    await vi.waitUntil(async () => {
      const again = await call('GET', '/v1/events', 'rra')
      await again.body?.cancel()
      return again.status === 200
    })
  })

  it('ends when the replica drains', async () => {
    const draining = new AbortController()
    const endless: ActivityService['events'] = async () => ({
      read: async function* (signal) {
        yield [event]
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      },
    })
    const response = await activityApi({ events: endless }, { draining: draining.signal })('GET', '/v1/events', 'rra')
    const text = response.text()
    draining.abort()
    expect(await text).toMatch(/^retry: 1000\n/)
  })
})

/** What Schemathesis does to a running API; each answer is held against the document. */
it('every generated request is answered as the document says, and none by an internal error', async () => {
  const rates = { createsPerMinute: 6e6, changesPerMinute: 6e6, readsPerSecond: 1e5, documentsPerSecond: 1e5 }
  const call = activityApi(working, {}, { rates })
  const anyName = fc.oneof(
    fc.constantFrom('rra', 'blue', 'Blue', '-', 'a'.repeat(300), '%20', 'a.b', '__proto__', '%2F', 'activity'),
    fc.webSegment(),
  )
  const odd = fc
    .tuple(
      fc.constantFrom('/v1', '/admin/v1', '/lab/v1', '/admin/v1/after', ''),
      fc.constantFrom('/lab', '/app', '/notebook', '/statefulset', '', '/toString'),
      fc.array(anyName, { maxLength: 3 }),
      fc.constantFrom('', '/activity', '/keep-alive', '/events', '/policy'),
    )
    .map(([prefix, kind, names, end]) => `${prefix}${kind}${names.map(name => `/${name}`).join('')}${end}`)
  const anyPath = fc.oneof(odd, fc.constantFrom(...own, ...asAdmin, '/lab/v1/rra', '/v1/lab/rra/keep-alive'))
  const anyBody = fc.oneof(
    fc.constant({ seconds: 60 }),
    fc.record({ seconds: fc.oneof(fc.integer(), fc.double()) }),
    fc.jsonValue(),
  )
  const anyMethod = fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS')
  const anyCaller = fc.constantFrom('rra', 'hub', 'lab', 'guest', undefined)
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(anyMethod, anyPath, anyCaller, anyBody, async (method, path, who, body) => {
      if (path.split('/').some(part => part === '.' || part === '..')) return
      const init = method === 'POST' || method === 'PUT' ? jsonBody(JSON.stringify(body)) : {}
      const response = await call(method, path, who, init)
      statuses.add(response.status)
      expect(response.status).not.toBe(500)
    }),
    { numRuns: 500 },
  )
  expect([...statuses]).toEqual(expect.arrayContaining([200, 401, 403, 404, 405]))
})
