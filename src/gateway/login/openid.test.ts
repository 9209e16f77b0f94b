import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { gatewayClient, gatewaySecret, LoginIssuer } from '../../../test/kit/identity/login-issuer.ts'
import { testParts } from '../../../test/kit/identity/parts.ts'
import { ApiError } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { Unclear } from '../../identity/source.ts'
import { Denied, OpenIdClient } from './openid.ts'

const site = 'https://platform.example.org'
const begun = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) }

let issuer: LoginIssuer
beforeAll(async () => {
  issuer = await LoginIssuer.start(site)
  issuer.people.set('ada', { groups: ['physics'] })
})
afterAll(() => issuer?.stop())

function client({ secret = gatewaySecret, url = issuer.url } = {}) {
  const parts = testParts()
  const config = configSchema.parse({
    identity: { provider: 'oidc', oidc: { issuer: url, audience: 'skylab', timeoutSeconds: 1 } },
    gateway: { login: 'oidc', oidc: { clientId: gatewayClient, scopes: ['openid', 'exec:notebook'] } },
  })
  const made = new OpenIdClient({
    ...{ ...parts, issuer: config.identity.oidc!, client: config.gateway.oidc!, secret },
    ...{ callback: `${site}/console/callback`, goodbye: `${site}/console/logout` },
  })
  return { client: made, ...parts }
}

/** The query to which the issuer leads back. */
async function back(own = client()): Promise<string> {
  const cookies = new Map<string, string>()
  for (let at = await own.client.begin(begun); ; ) {
    const answer = await fetch(at, { redirect: 'manual', headers: { Cookie: [...cookies.values()].join('; ') } })
    for (const line of answer.headers.getSetCookie()) cookies.set(line.split('=')[0]!, line.split(';')[0]!)
    const to = new URL(answer.headers.get('location')!, at)
    if (to.origin === site) return to.search.slice(1)
    at = to.href
  }
}

const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    error => (error instanceof Denied ? error.reason : error instanceof ApiError ? error.status : error),
  )

async function during<T>(fault: (response: ServerResponse) => void, work: () => Promise<T>): Promise<T> {
  issuer.fault = fault
  onTestFinished(() => {
    issuer.fault = undefined
  })
  return work()
}

const json = { 'Content-Type': 'application/json' }
const unclear: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'an error of the server': response => void response.writeHead(500).end('no'),
  '429': response => void response.writeHead(429).end(),
  'nothing in time': () => {},
  'a cut': response => void response.destroy(),
  'more than a mebibyte': response => void response.writeHead(200, json).end(' '.repeat(1_100_000)),
  'a client that it does not know': response => void response.writeHead(401, json).end('{"error":"invalid_client"}'),
  'an error of another kind': response => void response.writeHead(400, json).end('{"error":"unauthorized_client"}'),
  'an error that it is away': response => void response.writeHead(400, json).end('{"error":"temporarily_unavailable"}'),
}

describe('OpenIdClient', () => {
  it('turns a code into claims and tokens, and a refresh token into others', async () => {
    const own = client()
    const told = await own.client.finish(await back(own), begun)
    expect(told).toMatchObject({ subject: 'ada', claims: { preferred_username: 'ada', groups: ['physics'] } })
    expect(told.scope?.split(' ').sort()).toEqual(['exec:notebook', 'openid'])
    issuer.people.set('ada', { groups: ['chemistry'] })
    const again = await own.client.again(told.refreshToken!, told.subject)
    expect(again.claims).toMatchObject({ groups: ['chemistry'] })
    expect(again.refreshToken).not.toBe(told.refreshToken)
    // Each is used once.
    expect(await outcome(own.client.again(told.refreshToken!, told.subject))).toBe('invalid_grant')
  })

  it.each(Object.entries(unclear))('answers 503, and ends nothing, when the issuer gives %s', async (_, fault) => {
    const own = client()
    const query = await back(own)
    const seen = await during(fault, async () => [
      await outcome(own.client.again('x', 'y')),
      await outcome(own.client.finish(query, begun)),
    ])
    expect(seen).toEqual([503, 503])
  })

  it.each([
    ['an error of the server', false],
    ['nothing in time', false],
    ['a cut', false],
    ['429', true],
    ['more than a mebibyte', true],
    ['a client that it does not know', true],
    ['an error of another kind', true],
  ])('says of a question again whether it alone has no answer when the issuer gives %s: %j', async (fault, isAlone) => {
    const { client: own } = client()
    await own.probe()
    const error = await during(unclear[fault]!, () => own.again('x', 'y').catch(thrown => thrown))
    expect([error.status, error instanceof Unclear]).toEqual([503, isAlone])
  })

  it.each(['invalid_grant', 'access_denied', 'interaction_required', 'account_disabled'])(
    'ends a login when the issuer says %s to its refresh token',
    async said => {
      const fault = (response: ServerResponse) =>
        void response.writeHead(400, json).end(JSON.stringify({ error: said }))
      expect(await during(fault, () => outcome(client().client.again('x', 'y')))).toBe(said)
    },
  )

  it.each([401, 403])('ends a login when UserInfo answers %i, with a challenge or without', async status => {
    const tokens = { access_token: 'a', token_type: 'bearer' }
    for (const headers of [{}, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }]) {
      const url = await scripted(
        own => ({
          published: { token_endpoint: `${own}/token`, userinfo_endpoint: `${own}/me` },
          '/token': tokens,
        }),
        { '/me': response => void response.writeHead(status, headers).end() },
      )
      expect(await outcome(client({ url }).client.again('x', 'ada'))).toBe('user_info')
    }
  })

  it.each([
    ['no JSON', 'hello'],
    ['no access token', '{"token_type":"bearer"}'],
    ['an ID token without a signature', `{"access_token":"a","token_type":"bearer","id_token":"${forged()}"}`],
  ])('believes nothing when the issuer gives %s', async (_, body) => {
    const own = client()
    const query = await back(own)
    const fault = (response: ServerResponse) => void response.writeHead(200, json).end(body)
    expect(await during(fault, () => outcome(own.client.finish(query, begun)))).toBe('unsound')
    expect(await during(fault, () => outcome(own.client.again('x', 'y')))).toBe(503)
  })

  it('sends a refresh token once, when the connection is cut', async () => {
    const own = client()
    await own.client.probe()
    const before = issuer.calls
    await during(
      response => void response.destroy(),
      () => outcome(own.client.again('x', 'y')),
    )
    expect(issuer.calls - before).toBe(1)
  })

  it('answers 503 when its secret is wrong, and says so in the log without it', async () => {
    const own = client({ secret: 'wrong-secret-of-the-gateway' })
    expect(await outcome(own.client.again('x', 'y'))).toBe(503)
    const lines = own.lines.join('')
    expect([lines.includes('invalid_client'), lines.includes('wrong-secret')]).toEqual([true, false])
  })

  it('answers 503 when the issuer was never there, and works by what it published when it has gone', async () => {
    const own = client()
    expect(await issuer.whileAway(() => outcome(own.client.begin(begun)))).toBe(503)
    await own.client.begin(begun)
    own.clock.advance(700_000)
    expect(await issuer.whileAway(() => outcome(own.client.begin(begun)))).toBe('done')
    expect(own.results).toContain('failed')
  })

  it('answers 503 when the issuer calls itself otherwise', async () => {
    const own = client({ url: issuer.url.replace('127.0.0.1', 'localhost') })
    expect(await outcome(own.client.begin(begun))).toBe(503)
  })

  it('sends nothing when an address of the issuer is neither https:// nor on this machine', async () => {
    const own = client({
      url: await scripted(() => ({ '/jwks': {}, published: { token_endpoint: 'http://issuer.invalid/token' } })),
    })
    expect(await outcome(own.client.again('x', 'y'))).toBe(503)
    expect(own.results).toEqual(['ok'])
  })

  it('asks UserInfo when a refresh token brings no ID token, and believes it of the same person alone', async () => {
    const tokens = { access_token: 'a', token_type: 'bearer', refresh_token: 'next' }
    const url = await scripted(own => ({
      published: { token_endpoint: `${own}/token`, userinfo_endpoint: `${own}/me` },
      '/token': tokens,
      '/me': { sub: 'ada', groups: ['physics'] },
    }))
    const { client: own } = client({ url })
    expect(await own.again('x', 'ada')).toEqual({
      ...{ claims: { sub: 'ada', groups: ['physics'] }, subject: 'ada', refreshToken: 'next' },
      scope: undefined,
    })
    expect(await outcome(own.again('x', 'eve'))).toBe(503)
    const without = await scripted(other => ({ published: { token_endpoint: `${other}/token` }, '/token': tokens }))
    expect(await outcome(client({ url: without }).client.again('x', 'ada'))).toBe(503)
  })

  it('has an address where the session ends, with the way back and no token', async () => {
    const led = new URL((await client().client.end())!)
    expect(Object.fromEntries(led.searchParams)).toEqual({
      client_id: gatewayClient,
      post_logout_redirect_uri: `${site}/console/logout`,
    })
  })
})

/** An issuer that answers so, by path. @returns its address */
async function scripted(
  answers: (url: string) => Readonly<Record<string, object>>,
  others: Readonly<Record<string, (response: ServerResponse) => void>> = {},
): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const other = others[url]
    if (other) return other(response)
    const { published, ...all } = answers(own())
    const answer = url.startsWith('/.well-known/') ? { issuer: own(), ...published } : all[url]
    response.writeHead(answer ? 200 : 404, json).end(JSON.stringify(answer ?? {}))
  })
  const own = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return own()
}

function forged(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'https://issuer', aud: gatewayClient, sub: 'ada', iat: now, exp: now + 60, nonce: begun.nonce }
  return `${part({ alg: 'none' })}.${part(claims)}.`
}
