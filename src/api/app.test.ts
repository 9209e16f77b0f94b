import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  api,
  apiParts,
  callers,
  detailOf,
  exampleLab,
  jsonBody,
  prefix,
  requestTo,
} from '../../test/kit/api/scripted-api.ts'
import { ApiError, RetryLater, unavailable } from '../base/errors.ts'
import { createLogger } from '../telemetry/log.ts'
import type { Origin } from '../telemetry/tracing.ts'
import { createApi } from './app.ts'

describe('GET labs', () => {
  it('returns the list of the specification', async () => {
    const response = await api({ running: async () => ['adam', 'rra'] })('GET', 'labs', 'hub')
    expect([response.status, await response.json()]).toEqual([200, ['adam', 'rra']])
  })
})

describe('GET labs/<username> and user-status', () => {
  const call = api({ status: async user => (user === 'rra' ? exampleLab() : null) })

  it('return the lab', async () => {
    const byAdmin = await call('GET', 'labs/rra', 'hub')
    const byUser = await call('GET', 'user-status', 'rra')
    expect([byAdmin.status, byUser.status]).toEqual([200, 200])
    const json = await byAdmin.json()
    expect(json).toMatchObject({ username: 'rra', status: 'running', pod: 'present' })
    expect(await byUser.json()).toEqual(json)
  })

  it('return a failed lab too', async () => {
    const failed = api({ status: async () => exampleLab({ status: 'failed', podPresent: false }) })
    expect((await failed('GET', 'labs/rra', 'hub')).status).toBe(200)
    expect((await failed('GET', 'user-status', 'rra')).status).toBe(200)
  })

  it('answer 404 without a lab', async () => {
    for (const response of [await call('GET', 'labs/adam', 'hub'), await call('GET', 'user-status', 'both')]) {
      expect(response.status).toBe(404)
      await detailOf(response)
    }
  })
})

describe('DELETE labs/<username>', () => {
  it('answers 202 when accepted, and 404 without a lab', async () => {
    const call = api({ delete: async user => user === 'rra' })
    expect((await call('DELETE', 'labs/rra', 'hub')).status).toBe(202)
    const missing = await call('DELETE', 'labs/adam', 'hub')
    expect(missing.status).toBe(404)
    await detailOf(missing)
  })
})

describe('createApi’s authorization', () => {
  const bodyOf = (method: string) => (method === 'POST' ? jsonBody({ options: {} }) : {})

  const routes = [
    ['GET', 'labs', 'admin'],
    ['GET', 'labs/rra', 'admin'],
    ['DELETE', 'labs/rra', 'admin'],
    ['POST', 'labs/rra/create', 'user'],
    ['GET', 'labs/rra/events', 'user'],
    ['GET', 'lab-form/rra', 'user'],
    ['GET', 'user-status', 'user'],
    ['GET', 'images', 'admin'],
    ['GET', 'prepulls', 'admin'],
  ] as const

  it.each(routes)('%s %s requires a token', async (method, path) => {
    for (const init of [{}, { headers: { Authorization: 'Bearer wrong' } }]) {
      const response = await api()(method, path, undefined, init)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      await detailOf(response)
    }
  })

  it.each(routes)('%s %s requires the scope of its audience (%s)', async (method, path, audience) => {
    for (const other of audience === 'admin' ? ['rra', 'guest'] : ['hub', 'guest']) {
      const own = path.replace('rra', other)
      const response = await api()(method, own, other, bodyOf(method))
      expect(response.status).toBe(403)
      expect((await detailOf(response)).type).toBe('scope_missing')
    }
  })

  it.each([
    ['POST', 'labs/rra/create'],
    ['GET', 'labs/rra/events'],
    ['GET', 'lab-form/rra'],
  ])('%s %s accepts only the user in the path, also from administrators', async (method, path) => {
    const response = await api()(method, path, 'both', bodyOf(method))
    expect(response.status).toBe(403)
    expect(await detailOf(response)).toMatchObject({ type: 'other_user', loc: ['path', 'username'] })
  })

  it('is checked before the body is read', async () => {
    expect((await api()('POST', 'labs/rra/create', undefined, jsonBody('{'))).status).toBe(401)
    expect((await api()('POST', 'labs/rra/create', 'both', jsonBody('{'))).status).toBe(403)
  })
})

describe('user names in paths', () => {
  it.each(['a%3Ab', 'a%2Fb', 'a%0Ab', 'a%00b', 'x'.repeat(257)])('are refused: %s', async name => {
    for (const method of ['GET', 'DELETE']) {
      const response = await api()(method, `labs/${name}`, 'hub')
      expect(response.status).toBe(422)
      expect((await detailOf(response)).loc).toEqual(['path', 'username'])
    }
  })

  it('arrive decoded, whatever their encoding', async () => {
    const asked: string[] = []
    const call = api({
      status: async user => {
        asked.push(user)
        return null
      },
    })
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter(name => !/[\p{Cc}\u2028\u2029:/]/u.test(name) && name.isWellFormed() && !/^\.{1,2}$/.test(name))
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(name, fc.constantFrom('%41', '100%', 'a%2Fb', 'a%25b', 'é', 'a+b', 'a b')),
        async name => {
          expect((await call('GET', `labs/${encodeURIComponent(name)}`, 'hub')).status).toBe(404)
          expect(asked.pop()).toBe(name)
        },
      ),
    )
  })

  it('are escaped in Location', async () => {
    const identity = { identify: async () => ({ ...callers[0]!, username: 'ä b%' }) }
    const response = await api({}, { identity })('POST', 'labs/%C3%A4%20b%25/create', 'x', jsonBody({ options: {} }))
    expect(response.headers.get('location')).toBe(`${prefix}/labs/%C3%A4%20b%25`)
  })
})

describe('errors of createApi', () => {
  it.each([
    ['GET', '/', 404],
    ['GET', '/nublado/spawner/v1', 404],
    ['GET', 'labs/', 404],
    ['GET', 'labs/rra/nothing', 404],
    ['GET', '/healthz', 404],
    ['GET', '/readyz', 404],
    ['GET', '/metrics', 404],
  ])('%s %s is %i in the common form', async (method, path, status) => {
    const response = await api()(method, path, 'hub')
    expect(response.status).toBe(status)
    await detailOf(response)
  })

  it.each([
    ['POST', 'labs', 'GET, HEAD'],
    ['POST', 'labs/rra', 'GET, HEAD, DELETE'],
    ['OPTIONS', 'labs/rra', 'GET, HEAD, DELETE'],
    ['GET', 'labs/rra/create', 'POST'],
    ['DELETE', 'labs/rra/events', 'GET, HEAD'],
    ['PUT', 'user-status', 'GET, HEAD'],
    ['POST', 'lab-form/rra', 'GET, HEAD'],
  ])('%s %s is 405 with the allowed methods', async (method, path, allow) => {
    const response = await api()(method, path, 'hub')
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    await detailOf(response)
  })

  it('of the engine are passed on unchanged', async () => {
    const conflict = new ApiError(409, { msg: 'a lab exists', type: 'lab_exists' })
    const call = api({
      create: () => Promise.reject(conflict),
      status: () => Promise.reject(unavailable('comparing', 3)),
      running: () => Promise.reject(new RetryLater('Redis does not answer', 1500)),
    })
    const exists = await call('POST', 'labs/rra/create', 'rra', jsonBody({ options: {} }))
    expect([exists.status, await detailOf(exists)]).toEqual([409, { msg: 'a lab exists', type: 'lab_exists' }])
    const comparing = await call('GET', 'labs/rra', 'hub')
    expect([comparing.status, comparing.headers.get('retry-after')]).toEqual([503, '3'])
    const away = await call('GET', 'labs', 'hub')
    expect([away.status, away.headers.get('retry-after')]).toEqual([503, '2'])
    await detailOf(away)
  })

  it('that are unexpected become 500, are logged, and reveal nothing', async () => {
    const lines: string[] = []
    const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
    const call = api({ running: () => Promise.reject(new Error('hunter2')) }, { log })
    const response = await call('GET', 'labs', 'hub')
    expect(response.status).toBe(500)
    expect(JSON.stringify(await detailOf(response))).not.toMatch(/hunter2/)
    expect(lines.join()).toMatch(/hunter2/)
  })
})

describe('HEAD', () => {
  it('is answered like GET, without a body', async () => {
    const call = api({ status: async () => exampleLab() })
    const response = await call('HEAD', 'labs/rra', 'hub')
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect((await call('HEAD', 'labs/rra')).status).toBe(401)
  })
})

describe('limits of createApi', () => {
  it('refuse a user with too many requests in flight, and no other user', async () => {
    const held: { entered: () => void; answer: Promise<string[]> }[] = []
    const running = () => {
      const request = held.shift()!
      request.entered()
      return request.answer
    }
    const call = api({ running }, {}, { limits: { maxRequestsPerUser: 2 } })
    const begin = async () => {
      const [entered, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string[]>()]
      held.push({ entered: entered.resolve, answer: answer.promise })
      const response = call('GET', 'labs', 'hub')
      await entered.promise
      return { response, answer: () => answer.resolve([]) }
    }
    const [first, second] = [await begin(), await begin()]
    const refused = await call('GET', 'labs', 'hub')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await detailOf(refused)
    expect((await call('GET', 'user-status', 'both')).status).toBe(404)
    first.answer()
    expect((await first.response).status).toBe(200)
    const third = await begin()
    for (const { answer } of [second, third]) answer()
    expect([(await second.response).status, (await third.response).status]).toEqual([200, 200])
  })
})

describe('metrics of requests', () => {
  it('count by route, whatever clients send', async () => {
    const parts = apiParts()
    const app = createApi(parts)
    await requestTo(app, `${prefix}/labs/ada`, { headers: { Authorization: 'Bearer hub-token' } })
    await requestTo(app, '/random/ada')
    await requestTo(app, `${prefix}/random/ada`)
    await requestTo(app, '/random', { method: 'BREW' })
    const text = await parts.metrics.registry.metrics()
    expect(text).toContain(`_count{method="GET",route="${prefix}/labs/:username",status="404"} 1`)
    expect(text).toContain('_count{method="GET",route="unknown",status="404"} 2')
    expect(text).toContain('_count{method="other",route="unknown",status="404"} 1')
    expect(text).not.toContain('ada')
  })
})

describe('the request log', () => {
  function logged() {
    const lines: string[] = []
    const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
    return { call: api({}, { log }), lines }
  }

  it('has one line per request, with its route and its id, which is returned', async () => {
    const { call, lines } = logged()
    const response = await call('GET', 'labs/ada?x=hunter2', 'hub', { headers: { 'X-Request-ID': 'abc-1' } })
    expect(response.headers.get('x-request-id')).toBe('abc-1')
    expect(lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request')).toMatchObject([
      { method: 'GET', route: `${prefix}/labs/:username`, status: 404, user: 'hub', requestId: 'abc-1' },
    ])
    expect(lines.join()).not.toMatch(/hub-token|hunter2/)
  })

  it('names the client’s trace, and passes both on to the operation', async () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const headers = { 'X-Request-ID': 'abc-1', traceparent }
    const origins: unknown[] = []
    const lines: string[] = []
    const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
    const seen = ({ requestId, span }: Origin) => void origins.push({ requestId, traceparent: span.traceparent })
    const call = api(
      {
        create: async (_, __, origin) => seen(origin),
        delete: async (_, origin) => {
          seen(origin)
          return true
        },
      },
      { log },
    )
    const typed = { ...headers, 'Content-Type': 'application/json' }
    await call('POST', 'labs/rra/create', 'rra', { ...jsonBody({ options: {} }), headers: typed })
    await call('DELETE', 'labs/rra', 'hub', { headers: { ...headers, traceparent: 'none' } })
    expect(origins).toEqual([
      { requestId: 'abc-1', traceparent },
      { requestId: 'abc-1', traceparent: undefined },
    ])
    expect(lines.map(line => JSON.parse(line).traceId)).toEqual(['a'.repeat(32), undefined])
  })

  it('makes an id when none is sent, or an invalid one', async () => {
    const { call } = logged()
    for (const headers of [{}, { 'X-Request-ID': 'a b' }, { 'X-Request-ID': 'x'.repeat(129) }]) {
      const response = await call('GET', 'labs', 'hub', { headers: headers as Record<string, string> })
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  })
})

it('createApi serves its routes under the configured prefix', async () => {
  const call = api({ running: async () => [] }, {}, { prefix: '/labs-api' })
  expect((await call('GET', '/labs-api/labs', 'hub')).status).toBe(200)
  expect((await call('GET', 'labs', 'hub')).status).toBe(404)
})
