import { createPublicKey } from 'node:crypto'
import { exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  assemble,
  audience,
  forge,
  makeKey,
  nowSeconds,
  oidcIdentity,
  type PrivateKey,
  publicOf,
  soundClaims,
  TestIssuer,
} from '../../test/kit/identity/issuer.ts'
import { refusalOf } from '../../test/kit/identity/parts.ts'

const ada = {
  username: 'ada',
  scopes: ['exec:notebook'],
  claims: { uid: 4123, gid: '4124', groups: ['astronomers', { name: 'ada', id: 4124 }], quota: { cpu: 2, memory: 8 } },
}
const hub = { username: 'hub', scopes: ['exec:notebook', 'admin:jupyterlab'] }
const eve = { username: 'eve', scopes: [] }

let first: PrivateKey
let second: PrivateKey
/** A foreign key with a key id that the issuer uses. */
let stolen: PrivateKey
let issuer: TestIssuer
beforeAll(async () => {
  ;[first, second, stolen] = await Promise.all([makeKey('first'), makeKey('second'), makeKey('first')])
  issuer = await TestIssuer.start([ada, hub, eve], [first, second])
})
afterAll(() => issuer.stop())
beforeEach(() => {
  issuer.rotate([first, second])
  issuer.asked.length = 0
})

describe('createOidcIdentity', () => {
  it('returns the user of a token, with their data', async () => {
    const { identify } = oidcIdentity(issuer)
    const token = await issuer.token('ada')
    expect(await identify(token)).toEqual({
      username: 'ada',
      scopes: ['exec:notebook'],
      uid: 4123,
      gid: 4124,
      groups: [{ name: 'astronomers' }, { name: 'ada', id: 4124 }],
      quota: { cpu: 2, memoryBytes: 2 ** 33, spawn: true },
      token,
    })
    expect((await identify(await issuer.token('hub'))).scopes).toEqual(['exec:notebook', 'admin:jupyterlab'])
    const nothing = await issuer.token('eve')
    expect(await identify(nothing)).toEqual({ username: 'eve', scopes: [], groups: [], token: nothing })
  })

  it('asks nothing once the keys are known', async () => {
    const { identify, results } = oidcIdentity(issuer)
    const token = await issuer.token('ada')
    await Promise.all(Array.from({ length: 10 }, () => identify(token)))
    for (let i = 0; i < 10; i++) await identify(token)
    expect(issuer.keysAsked).toBe(1)
    expect(results).toEqual(['ok', 'ok'])
  })

  it('accepts signatures by elliptic curves when configured', async () => {
    issuer.rotate([await makeKey('curve', 'ES256'), first])
    const token = await issuer.token('ada')
    expect(await refusalOf(oidcIdentity(issuer).identify(token))).toMatchObject({ status: 401 })
    expect(await oidcIdentity(issuer, { algorithms: ['ES256'] }).identify(token)).toMatchObject({ username: 'ada' })
  })

  it('accepts only the configured type of token', async () => {
    const { identify } = oidcIdentity(issuer, { tokenType: 'at+jwt' })
    expect(await identify(await issuer.token('ada'))).toMatchObject({ uid: 4123 })
    const other = await forge(issuer, { header: { typ: 'JWT' } })
    expect(await refusalOf(identify(other))).toMatchObject({ status: 401 })
    expect(await oidcIdentity(issuer).identify(other)).toMatchObject({ username: 'ada' })
  })

  it('allows exactly the configured clock skew', async () => {
    const { identify, clock } = oidcIdentity(issuer, { clockSkewSeconds: 30 })
    const token = await forge(issuer, { claims: { exp: nowSeconds() + 60, nbf: nowSeconds() } })
    clock.stepWall(-25_000)
    expect(await identify(token)).toMatchObject({ username: 'ada' })
    clock.stepWall(105_000)
    expect(await identify(token)).toMatchObject({ username: 'ada' })
    clock.stepWall(10_000)
    expect(await refusalOf(identify(token))).toMatchObject({ status: 401 })
  })
})

describe('createOidcIdentity with authorizedParties', () => {
  const parties = { authorizedParties: ['portal', 'hub'] }

  it.each([
    ['azp', { azp: 'portal' }, true],
    ['client_id', { client_id: 'hub' }, true],
    ['both', { azp: 'portal', client_id: 'portal' }, true],
    ['another azp', { azp: 'stranger', client_id: 'hub' }, false],
    ['another client_id', { azp: 'hub', client_id: 'stranger' }, false],
    ['a list', { azp: ['portal'] }, false],
    ['no client', { azp: undefined, client_id: undefined }, false],
  ])('judges a token whose client is in %s', async (_, claims, isTaken) => {
    const identified = oidcIdentity(issuer, parties).identify(await forge(issuer, { claims }))
    if (isTaken) expect(await identified).toMatchObject({ username: 'ada' })
    else expect(await refusalOf(identified)).toMatchObject({ status: 401 })
  })
})

describe('createOidcIdentity with a bad token', () => {
  const withClaims = (claims: object) => () => forge(issuer, { claims })
  const withHeader = (header: object) => () => forge(issuer, { header })
  const stolenWith = (header: () => object) => () => forge(issuer, { header: header(), key: stolen })
  const loose = (header: object, signature?: string, payload?: unknown) => () =>
    assemble({ alg: 'RS256', kid: 'first', ...header }, payload ?? soundClaims(issuer), signature)

  const cases: Record<string, () => string | Promise<string>> = {
    expired: () => forge(issuer, { claims: { exp: nowSeconds() - 31 } }),
    'not yet valid': () => forge(issuer, { claims: { nbf: nowSeconds() + 45 } }),
    'without an end': withClaims({ exp: undefined }),
    'whose end is text': withClaims({ exp: '9999999999' }),
    'whose end is no number at all': withClaims({ exp: null }),
    'without a subject': withClaims({ sub: undefined }),
    'of another issuer': withClaims({ iss: 'https://login.example.org' }),
    'of the issuer with a slash': () => forge(issuer, { claims: { iss: `${issuer.url}/` } }),
    'without an issuer': withClaims({ iss: undefined }),
    'for another audience': withClaims({ aud: 'https://portal.example.org/' }),
    'for other audiences': withClaims({ aud: ['a', 'b', audience.slice(0, -1)] }),
    'without an audience': withClaims({ aud: undefined }),
    'signed by another key of that name': stolenWith(() => ({})),
    'signed by a key of another name': withHeader({ kid: 'second' }),
    'without a name of its key, of which there are two': withHeader({ kid: undefined }),
    'whose name of its key is none': withHeader({ kid: ['first'] }),
    unsigned: () => new UnsecuredJWT(soundClaims(issuer)).encode(),
    'unsigned in other letters': loose({ alg: 'nOnE' }),
    'with an empty signature': loose({}),
    'signed with the public key as a secret': async () => {
      const pem = await exportSPKI(createPublicKey({ key: publicOf(first), format: 'jwk' }))
      const token = new SignJWT(soundClaims(issuer)).setProtectedHeader({ alg: 'HS256', kid: 'first' })
      return token.sign(Buffer.from(pem))
    },
    'signed by an algorithm that is not configured': () => forge(issuer, { key: { ...first, alg: 'PS256' } }),
    'that brings its key along': stolenWith(() => ({ jwk: publicOf(stolen) })),
    'that says where its keys are': stolenWith(() => ({ jku: `${issuer.url}/theirs`, kid: 'theirs' })),
    'that says where its certificate is': stolenWith(() => ({ x5u: `${issuer.url}/theirs`, kid: 'theirs' })),
    'that brings a certificate along': stolenWith(() => ({ x5c: ['AAAA'], x5t: 'AAAA' })),
    'with a critical extension': loose({ crit: ['strict'], strict: true }, 'x'.repeat(256)),
    'with critical extensions that are none': loose({ crit: [] }, 'x'.repeat(256)),
    'whose claims are not encoded': loose({ b64: false, crit: ['b64'] }, 'x'.repeat(256)),
    'whose claims were changed afterwards': async () => {
      const [header, , signature] = (await forge(issuer)).split('.')
      const payload = Buffer.from(JSON.stringify({ ...soundClaims(issuer), sub: 'hub' }))
      return [header, payload.toString('base64url'), signature].join('.')
    },
    'whose claims are a list': loose({}, 'x'.repeat(256), []),
    'that is encrypted': () => `${Buffer.from('{"alg":"dir","enc":"A128GCM"}').toString('base64url')}..AAAA.AAAA.AAAA`,
    'of two parts': async () => (await forge(issuer)).split('.').slice(0, 2).join('.'),
    'of four parts': async () => `${await forge(issuer)}.AAAA`,
    'of no part': () => 'none-of-your-tokens',
    'of empty parts': () => '..',
    'with a header that is null': () => assemble(null, {}, 'x'),
    'that is sent twice': async () => `${await forge(issuer)}, Bearer ${await forge(issuer)}`,
    enormous: withClaims({ padding: 'x'.repeat(20_000) }),
  }

  it.each(Object.keys(cases))('refuses a token: %s', async name => {
    const { identify, lines } = oidcIdentity(issuer)
    const token = await cases[name]!()
    expect(await refusalOf(identify(token))).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': 'Bearer' } })
    expect(issuer.asked.filter(path => !/^\/(jwks|\.well-known\/openid-configuration)$/.test(path))).toEqual([])
    expect(lines.join()).not.toContain(token)
  })

  it('accepts good tokens, which look like the refused ones', async () => {
    expect(await oidcIdentity(issuer).identify(await forge(issuer))).toMatchObject({ username: 'ada' })
  })

  it('refuses a request without a token', async () => {
    expect(await refusalOf(oidcIdentity(issuer).identify())).toMatchObject({ status: 401 })
    expect(issuer.asked).toEqual([])
  })

  it('refuses a token in which any letter was changed', async () => {
    const { identify } = oidcIdentity(issuer)
    const token = await forge(issuer)
    // The last letter of a part may have unused bits.
    const ends = [...token.matchAll(/.(?=\.|$)/g)].map(({ index }) => index)
    const places = Array.from({ length: 60 }, (_, i) => Math.floor((i * token.length) / 60))
    for (const place of places.filter(place => !ends.includes(place))) {
      const other = token[place] === 'A' ? 'B' : 'A'
      const changed = token.slice(0, place) + other + token.slice(place + 1)
      expect(await refusalOf(identify(changed)), `changed at ${place}`).toMatchObject({ status: 401 })
    }
  })
})

it('createOidcIdentity answers 403 with the claim when a token cannot be mapped', async () => {
  const token = await forge(issuer, { claims: { uid: 'root' } })
  const error = await refusalOf(oidcIdentity(issuer).identify(token))
  expect(error).toMatchObject({ status: 403, detail: [{ type: 'claim_unusable' }] })
  expect(error.message).toMatch(/claim uid/)
})
