import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { api, detailOf, exampleLab, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { FakeGafaelfawr, faults } from '../../../test/kit/identity/gafaelfawr.ts'
import { assemble, oidcIdentity, soundClaims, TestIssuer } from '../../../test/kit/identity/issuer.ts'
import { testParts } from '../../../test/kit/identity/parts.ts'
import type { Identity } from '../../base/domain.ts'
import { configSchema } from '../../config/schema.ts'
import { createGafaelfawrIdentity } from '../../identity/gafaelfawr.ts'

const secret = 'the-ingress-is-known-by-this'
const adminSecret = 'administrators-come-with-this'
let server: FakeGafaelfawr
beforeEach(async () => {
  server = await FakeGafaelfawr.start()
  server.users.set('token-of-rra', { username: 'rra', uid: 4123 })
  server.users.set('token-of-eve', { username: 'eve', uid: 6666, gid: 6666 })
})
afterEach(() => server.stop())

function behindGafaelfawr(more: object = {}) {
  const gafaelfawr = { baseUrl: server.url, cacheSeconds: 0, timeoutSeconds: 10, ...more }
  const config = configSchema.parse({ identity: { provider: 'gafaelfawr', gafaelfawr } })
  const callers: Identity[] = []
  const script = {
    create: async (caller: Identity) => void callers.push(caller),
    delete: async () => true,
    status: async () => exampleLab(),
    running: async () => ['rra'],
  }
  const call = api(script, {
    config,
    identity: createGafaelfawrIdentity(
      config.identity.gafaelfawr!,
      { user: [secret], admin: [adminSecret], lab: [] },
      testParts(),
    ),
  })
  return { call, callers }
}

const ingress = (user: string, token?: string): Record<string, string> => ({
  'X-Skylab-Ingress-Secret': secret,
  'X-Auth-Request-User': user,
  ...(token !== undefined && { 'X-Auth-Request-Token': token }),
})
const create = (headers: Record<string, string>): RequestInit => {
  const { body } = jsonBody({ options: {} })
  return { body: body!, headers: { ...headers, 'Content-Type': 'application/json' } }
}

it('routes of administrators ask no identity source, and work while Gafaelfawr is down', async () => {
  const { call } = behindGafaelfawr()
  server.fault = faults.error
  for (const [method, path, status] of [
    ['GET', 'labs', 200],
    ['GET', 'labs/rra', 200],
    ['DELETE', 'labs/rra', 202],
  ] as const) {
    const byAdmins = { ...ingress('hub'), 'X-Skylab-Ingress-Secret': adminSecret }
    expect((await call(method, path, undefined, { headers: byAdmins })).status).toBe(status)
    const byUsers = await call(method, path, undefined, { headers: ingress('hub', 'token-of-rra') })
    expect([byUsers.status, (await detailOf(byUsers)).type]).toEqual([403, 'scope_missing'])
    expect((await call(method, path, undefined, { headers: { 'X-Auth-Request-User': 'hub' } })).status).toBe(401)
  }
  expect(server.asked).toEqual([])
})

it('routes of users ask the identity source for the user', async () => {
  const { call, callers } = behindGafaelfawr()
  expect((await call('POST', 'labs/rra/create', undefined, create(ingress('rra', 'token-of-rra')))).status).toBe(303)
  expect(callers).toEqual([
    { username: 'rra', token: 'token-of-rra', scopes: ['exec:notebook'], uid: 4123, groups: [] },
  ])
  expect((await call('GET', 'user-status', undefined, { headers: ingress('rra', 'token-of-rra') })).status).toBe(200)
  // The creation also asks for the scopes of the token.
  expect(server.asked).toHaveLength(3)
})

it.each([
  ['another user’s path', 403, ingress('eve', 'token-of-eve')],
  ['another user’s name', 401, ingress('rra', 'token-of-eve')],
  ['no token', 401, ingress('rra')],
  ['a bearer alone', 401, { Authorization: 'Bearer token-of-rra' }],
  ['no secret', 401, { 'X-Auth-Request-User': 'rra', 'X-Auth-Request-Token': 'token-of-rra' }],
])('a creation with %s is answered %i', async (_, status, headers) => {
  const { call, callers } = behindGafaelfawr()
  const response = await call('POST', 'labs/rra/create', undefined, create(headers))
  expect(response.status).toBe(status)
  await detailOf(response)
  expect(callers).toEqual([])
})

/** Headers of Chromium for a request of a page's script, which can change only the Referer. */
const fromPage = (origin: string, site = 'same-origin', referer = '/nb/user/eve/notebook.html') => ({
  ...{ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' },
  ...{ Origin: origin, Referer: `${origin}${referer}` },
})
const { Origin: _origin, ...withoutOrigin } = fromPage('https://data.example.org')

describe('a change that a web page requests', () => {
  const lab = 'https://data.example.org'

  it.each<[string, Record<string, string>]>([
    ['a lab under the same host', fromPage(lab)],
    ['a lab that says another Referer', fromPage(lab, 'same-origin', '/nublado/spawner/v1/docs/')],
    ['a page of a host beside it', fromPage('https://lab.example.org', 'same-site')],
    ['any page', fromPage('https://evil.example', 'cross-site')],
    ['a page without origin', fromPage('null', 'cross-site')],
    ['a page that sends only its Referer', { Referer: `${lab}/nb/user/eve/` }],
    ['a page that sends only its site', { 'Sec-Fetch-Site': 'same-origin' }],
    ['a form', { ...withoutOrigin, 'Sec-Fetch-Mode': 'navigate' }],
  ])('is refused behind Gafaelfawr: %s', async (_, headers) => {
    const { call, callers } = behindGafaelfawr()
    const byAdmins = { ...ingress('hub'), 'X-Skylab-Ingress-Secret': adminSecret, ...headers }
    const removed = await call('DELETE', 'labs/rra', undefined, { headers: byAdmins })
    expect([removed.status, (await detailOf(removed)).msg]).toEqual([403, expect.stringMatching(/pageOrigins/)])
    const byUsers = { ...ingress('rra', 'token-of-rra'), ...headers }
    expect((await call('POST', 'labs/rra/create', undefined, create(byUsers))).status).toBe(403)
    expect(callers).toEqual([])
    expect((await call('GET', 'user-status', undefined, { headers: byUsers })).status).toBe(200)
  })

  it('is accepted from configured origins, and from programs', async () => {
    const origin = 'https://admin.example.org'
    const { call } = behindGafaelfawr({ pageOrigins: [origin] })
    const remove = async (headers: Record<string, string>) => {
      const byAdmins = { ...ingress('hub'), 'X-Skylab-Ingress-Secret': adminSecret, ...headers }
      return (await call('DELETE', 'labs/rra', undefined, { headers: byAdmins })).status
    }
    expect(await remove(fromPage(origin, 'same-site'))).toBe(202)
    expect(await remove(fromPage(lab))).toBe(403)
    expect(await remove({ Origin: lab, Referer: `${origin}/` })).toBe(403)
    // Headers of Node's own fetch.
    expect(await remove({ 'Sec-Fetch-Mode': 'cors' })).toBe(202)
    expect(await remove({ 'Sec-Fetch-Site': 'none' })).toBe(202)
  })

  it('is accepted with a bearer token, which no other page has', async () => {
    const call = api({ delete: async () => true })
    expect((await call('DELETE', 'labs/rra', 'hub', { headers: fromPage(lab) })).status).toBe(202)
  })
})

describe('a lab that gets its user’s token', () => {
  it('is refused when the delegated token has an administrator’s scope', async () => {
    const { call, callers } = behindGafaelfawr()
    const ask = () => call('POST', 'labs/rra/create', undefined, create(ingress('rra', 'token-of-rra')))
    expect((await ask()).status).toBe(303)
    server.scopes.set('token-of-rra', ['exec:notebook', 'admin:jupyterlab'])
    const refused = await ask()
    expect([refused.status, (await detailOf(refused)).type]).toEqual([403, 'token_too_strong'])
    expect(callers).toHaveLength(1)
  })

  it('is refused while Gafaelfawr does not return the scopes', async () => {
    const { call, callers } = behindGafaelfawr()
    expect((await call('GET', 'user-status', undefined, { headers: ingress('rra', 'token-of-rra') })).status).toBe(200)
    server.tokenFault = faults.error
    const response = await call('POST', 'labs/rra/create', undefined, create(ingress('rra', 'token-of-rra')))
    expect(response.status).toBe(503)
    expect(callers).toEqual([])
  })
})

it('users are answered 503 while Gafaelfawr is down', async () => {
  const { call, callers } = behindGafaelfawr()
  server.fault = faults.busy
  const response = await call('POST', 'labs/rra/create', undefined, create(ingress('rra', 'token-of-rra')))
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7'])
  expect((await detailOf(response)).type).toBe('unavailable')
  expect(callers).toEqual([])
})

it('a user with a known key is served while 2048 requests with unknown keys wait for a stalled issuer', async () => {
  const issuer = await TestIssuer.start([{ username: 'rra', scopes: ['exec:notebook'] }])
  onTestFinished(() => issuer.stop())
  const { identify, clock } = oidcIdentity(issuer)
  const token = await issuer.token('rra')
  await identify(token)
  clock.advance(10_000)
  const stalled: ServerResponse[] = []
  issuer.fault = { at: '', answer: response => void stalled.push(response) }
  const provider = { identify: (headers: Headers) => identify(headers.get('authorization')?.slice('Bearer '.length)) }
  const call = api({ status: async () => exampleLab() }, { identity: provider })
  const ask = (bearer: string) =>
    call('GET', 'user-status', undefined, { headers: { Authorization: `Bearer ${bearer}` } })
  const madeUp = (i: number) => assemble({ alg: 'RS256', kid: `made-up-${i}` }, soundClaims(issuer), 'x')
  let waiting = 2048
  const all = Array.from({ length: 2048 }, (_, i) => ask(madeUp(i)).finally(() => waiting--))
  await Promise.all(all.slice(32))
  expect((await ask(token)).status).toBe(200)
  expect(waiting).toBe(32)
  for (const response of stalled) response.destroy()
  await Promise.all(all)
}, 20_000)
