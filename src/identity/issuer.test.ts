import type { ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  assemble,
  forge,
  makeKey,
  oidcIdentity,
  type PrivateKey,
  publicOf,
  soundClaims,
  TestIssuer,
} from '../../test/kit/identity/issuer.ts'
import { refusalOf } from '../../test/kit/identity/parts.ts'

let first: PrivateKey
let second: PrivateKey
let stolen: PrivateKey
let issuer: TestIssuer
beforeAll(async () => {
  ;[first, second, stolen] = await Promise.all([makeKey('first'), makeKey('second'), makeKey('first')])
  issuer = await TestIssuer.start([{ username: 'ada', scopes: ['exec:notebook'] }], [first])
})
afterAll(() => issuer.stop())
beforeEach(() => {
  issuer.fault = undefined
  issuer.rotate([first])
  issuer.asked.length = 0
})

const down = { at: '', answer: (response: ServerResponse) => void response.writeHead(500).end() }
const keysAre = (keys: unknown) => ({
  at: '/jwks',
  answer: (response: ServerResponse) => void response.end(JSON.stringify(keys)),
})

describe('IssuerKeys', () => {
  it('rotates keys without a restart, and trusts a removed key no longer than the cache', async () => {
    const { identify, clock } = oidcIdentity(issuer, { keysCacheSeconds: 60, keysCooldownSeconds: 5 })
    const old = await issuer.token('ada')
    await identify(old)
    issuer.rotate([second, first])
    const young = await issuer.token('ada')
    clock.advance(5000)
    expect(await identify(young)).toMatchObject({ username: 'ada' })
    expect(await identify(old)).toMatchObject({ username: 'ada' })
    issuer.rotate([second])
    clock.advance(60_000)
    expect(await refusalOf(identify(old))).toMatchObject({ status: 401 })
    expect(await identify(young)).toMatchObject({ username: 'ada' })
  })

  it('does not ask the issuer for each token with an unknown key', async () => {
    const { identify, clock } = oidcIdentity(issuer, { keysCooldownSeconds: 5 })
    await identify(await issuer.token('ada'))
    const madeUp = Array.from({ length: 20 }, (_, i) => forge(issuer, { header: { kid: `made-up-${i}` }, key: stolen }))
    const tokens = await Promise.all(madeUp)
    const refuseAll = async () => {
      const refused = await Promise.all(tokens.map(token => refusalOf(identify(token))))
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401]))
    }
    await refuseAll()
    expect(issuer.keysAsked).toBe(1)
    clock.advance(5000)
    await refuseAll()
    await refuseAll()
    expect(issuer.keysAsked).toBe(2)
  })

  it('measures age by the monotonic clock', async () => {
    const { identify, clock } = oidcIdentity(issuer, { keysCooldownSeconds: 5 })
    await identify(await issuer.token('ada'))
    issuer.rotate([second])
    clock.stepWall(-20_000)
    clock.advance(5000)
    expect(await identify(await issuer.token('ada'))).toMatchObject({ username: 'ada' })
  })

  it('replaces keys in the background before they are too old', async () => {
    const { identify, clock, results } = oidcIdentity(issuer, { keysCacheSeconds: 400, clockSkewSeconds: 300 })
    const token = await forge(issuer, { claims: { exp: 9_999_999_999 } })
    await identify(token)
    clock.advance(200_000)
    issuer.fault = down
    expect(await identify(token)).toMatchObject({ username: 'ada' })
    await expect.poll(() => results).toContain('failed')
    issuer.fault = undefined
    clock.advance(100_000)
    expect(await identify(token)).toMatchObject({ username: 'ada' })
    await expect.poll(() => results.filter(result => result === 'ok').length).toBe(4)
    issuer.fault = down
    clock.advance(399_000)
    expect(await identify(token)).toMatchObject({ username: 'ada' })
    clock.advance(2000)
    expect(await refusalOf(identify(token))).toMatchObject({ status: 503 })
  })

  it('ignores keys of other kinds', async () => {
    const { identify } = oidcIdentity(issuer)
    const odd = [{ kty: 'oct', k: 'AAAA', kid: 'first' }, { kty: 'none' }, { kty: 'RSA', kid: 'half' }]
    issuer.fault = keysAre({ keys: [...odd, publicOf(first)] })
    expect(await identify(await forge(issuer))).toMatchObject({ username: 'ada' })
    const symmetric = new SignJWT(soundClaims(issuer)).setProtectedHeader({ alg: 'HS256', kid: 'first' })
    const token = await symmetric.sign(Buffer.from('AAAA', 'base64'))
    expect(await refusalOf(identify(token))).toMatchObject({ status: 401 })
  })

  it('answers 503 when the published keys cannot be used', async () => {
    const { identify, lines } = oidcIdentity(issuer)
    issuer.fault = keysAre({ keys: [{ kty: 'RSA', kid: 'half', n: 'AAAA' }] })
    const half = assemble({ alg: 'RS256', kid: 'half' }, soundClaims(issuer), 'x')
    expect(await refusalOf(identify(half))).toMatchObject({ status: 503 })
    expect(lines.join()).toMatch(/"warn".*key of the issuer/)
  })
})

describe('IssuerKeys while the issuer stalls', () => {
  /** The issuer keeps all requests waiting from now on, until the test ends. */
  function stalled() {
    const held: ServerResponse[] = []
    issuer.fault = { at: '', answer: response => void held.push(response) }
    onTestFinished(() => {
      for (const response of held) response.destroy()
    })
  }

  const madeUp = (count: number) =>
    Array.from({ length: count }, (_, i) => assemble({ alg: 'RS256', kid: `made-up-${i}` }, soundClaims(issuer), 'x'))

  it('lets at most 32 requests with unknown keys wait; others get 503, and known keys are accepted, at once', async () => {
    const { identify, clock } = oidcIdentity(issuer)
    const known = await issuer.token('ada')
    await identify(known)
    clock.advance(10_000)
    stalled()
    const settled: unknown[] = []
    const all = madeUp(2048).map(token => refusalOf(identify(token)).then(refusal => settled.push(refusal)))
    await Promise.all(all.slice(32))
    expect(settled).toHaveLength(2016)
    expect(settled[0]).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(await identify(known)).toMatchObject({ username: 'ada' })
    expect(settled).toHaveLength(2016)
  })
})

describe('IssuerKeys while the issuer fails', () => {
  const answers: Record<string, (response: ServerResponse) => void> = {
    error: response => void response.writeHead(500).end(),
    unauthorized: response => void response.writeHead(401).end(),
    forbidden: response => void response.writeHead(403).end(),
    elsewhere: response => void response.writeHead(302, { Location: 'https://login.example.org' }).end(),
    'no JSON': response => void response.end('<html>'),
    'hung up': response => void response.destroy(),
    huge: response => void response.end(' '.repeat(2 ** 21)),
  }
  const all = ['openid-configuration', 'jwks'].flatMap(at => Object.keys(answers).map(name => [at, name] as const))

  it.each(all)('answers 503: at %s, %s', async (at, name) => {
    const { identify, clock, lines } = oidcIdentity(issuer)
    const token = await issuer.token('ada')
    issuer.fault = { at, answer: answers[name]! }
    expect(await refusalOf(identify(token))).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(lines.join()).toMatch(/"warn".*identity provider cannot be used/)
    expect(lines.join()).not.toContain(token)
    issuer.fault = undefined
    clock.advance(1000)
    expect(await identify(token)).toMatchObject({ username: 'ada' })
  })

  it.each([
    ['of another issuer', () => ({ issuer: 'https://login.example.org' })],
    ['of the issuer with a slash', () => ({ issuer: `${issuer.url}/` })],
    ['without keys', () => ({ jwks_uri: undefined })],
    ['with keys in the clear elsewhere', () => ({ jwks_uri: 'http://login.example.org/jwks' })],
    ['with keys in a file', () => ({ jwks_uri: 'file:///etc/passwd' })],
    ['with keys nowhere', () => ({ jwks_uri: 'nowhere' })],
  ])('answers 503: a discovery %s', async (_, change) => {
    const document = JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...change() })
    issuer.fault = { at: 'openid-configuration', answer: response => void response.end(document) }
    const { identify, results } = oidcIdentity(issuer)
    expect(await refusalOf(identify(await issuer.token('ada')))).toMatchObject({ status: 503 })
    // No server is asked for the keys.
    expect(results).toEqual(['failed'])
    expect(issuer.keysAsked).toBe(0)
  })

  it.each([
    ['a list', []],
    ['no keys', {}],
    ['keys that are none', { keys: [7] }],
    ['too many keys', { keys: Array.from({ length: 101 }, () => ({ kty: 'RSA' })) }],
  ])('answers 503: %s for its keys', async (_, keys) => {
    issuer.fault = keysAre(keys)
    expect(await refusalOf(oidcIdentity(issuer).identify(await issuer.token('ada')))).toMatchObject({ status: 503 })
  })

  it('passes on the Retry-After of the issuer', async () => {
    const { identify, lines } = oidcIdentity(issuer)
    const answer = (response: ServerResponse) => void response.writeHead(429, { 'Retry-After': '7' }).end()
    const token = await issuer.token('ada')
    issuer.fault = { at: 'jwks', answer }
    expect(await refusalOf(identify(token))).toMatchObject({ status: 503, headers: { 'Retry-After': '7' } })
    expect(lines.join()).not.toMatch(/key of the issuer/)
  })

  it('answers 503 within the time-out when the issuer never answers', async () => {
    const { identify } = oidcIdentity(issuer, { timeoutSeconds: 0.3 })
    const token = await issuer.token('ada')
    issuer.fault = { at: '', answer: () => {} }
    expect(await refusalOf(identify(token))).toMatchObject({ status: 503 })
  })

  it('asks the issuer from time to time, not for each request', async () => {
    const { identify, clock } = oidcIdentity(issuer)
    const token = await issuer.token('ada')
    issuer.asked.length = 0
    issuer.fault = down
    for (let i = 0; i < 10; i++) expect(await refusalOf(identify(token))).toMatchObject({ status: 503 })
    expect(issuer.asked).toHaveLength(1)
    clock.advance(1000)
    await refusalOf(identify(token))
    expect(issuer.asked).toHaveLength(2)
  })

  it('answers 503 for an unknown key, which might be a new one', async () => {
    const { identify, clock } = oidcIdentity(issuer)
    await identify(await issuer.token('ada'))
    issuer.rotate([second])
    const token = await issuer.token('ada')
    issuer.fault = down
    clock.advance(10_000)
    expect(await refusalOf(identify(token))).toMatchObject({ status: 503 })
  })
})
