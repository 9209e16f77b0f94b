import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeGafaelfawr, faults } from '../../test/kit/identity/gafaelfawr.ts'
import { refusalOf, testParts } from '../../test/kit/identity/parts.ts'
import type { Scope } from '../base/domain.ts'
import { configSchema } from '../config/schema.ts'
import { createGafaelfawrIdentity } from './gafaelfawr.ts'

const secrets = {
  user: ['the-ingress-is-known-by-this', 'and-soon-it-will-be-by-this'],
  admin: ['administrators-come-with-this', 'and-soon-they-will-with-this'],
  lab: ['labs-come-with-this'],
}
const ada = {
  username: 'ada',
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  uid: 4123,
  gid: 4124,
  groups: [{ name: 'ada', id: 4124 }, { name: 'unnumbered' }, { name: 'nulled', id: null }],
  quota: { api: { tap: 500 }, notebook: { cpu: 4, memory: 16.5, spawn: true }, tap: {} },
}
const known = {
  username: 'ada',
  uid: 4123,
  gid: 4124,
  groups: [{ name: 'ada', id: 4124 }, { name: 'unnumbered' }, { name: 'nulled' }],
  quota: { cpu: 4, memoryBytes: 16.5 * 2 ** 30, spawn: true },
}

let server: FakeGafaelfawr
beforeEach(async () => {
  server = await FakeGafaelfawr.start()
  server.users.set('token-of-ada', ada)
  server.users.set('token-of-eve', { username: 'eve', uid: 6666, gid: 6666 })
})
afterEach(() => server.stop())

function provider(change: object = {}) {
  const gafaelfawr = { baseUrl: server.url, timeoutSeconds: 5, ...change }
  const parts = testParts()
  const config = configSchema.parse({ identity: { gafaelfawr } }).identity.gafaelfawr!
  const identity = createGafaelfawrIdentity(config, secrets, parts)
  const identify = (more: Record<string, string | null> = {}, scope: Scope = 'exec:notebook') =>
    identity.identify(headersWith(more, scope), scope)
  const requireLab = async (more: Record<string, string>) => identity.requireLab!(new Headers(more))
  return { identify, requireLab, ...parts }
}

/** Ada's headers as an ingress sends them, with some replaced or removed. */
function headersWith(more: Record<string, string | null>, scope: Scope): Headers {
  const usual = {
    'X-Skylab-Ingress-Secret': secrets[scope === 'exec:notebook' ? 'user' : 'admin'][0]!,
    'X-Auth-Request-User': 'ada',
    'X-Auth-Request-Token': 'token-of-ada',
  }
  return new Headers(Object.entries({ ...usual, ...more }).filter((entry): entry is [string, string] => !!entry[1]))
}

describe('createGafaelfawrIdentity for a user', () => {
  it('returns the user of the ingress, with Gafaelfawr’s data', async () => {
    const { identify, results } = provider()
    expect(await identify()).toEqual({ ...known, token: 'token-of-ada', scopes: ['exec:notebook'] })
    expect(server.asked).toEqual(['token-of-ada'])
    expect(results).toEqual(['ok'])
  })

  it.each([
    ['no UID', { uid: undefined }, { uid: undefined }],
    ['a UID of null', { uid: null }, { uid: undefined }],
    ['no GID', { gid: undefined }, { gid: undefined }],
    ['no groups', { groups: undefined }, { groups: [] }],
    ['groups of null', { groups: null }, { groups: [] }],
    ['no quota', { quota: undefined }, { quota: undefined }],
    ['a quota for other things', { quota: { api: {} } }, { quota: undefined }],
    ['a quota for notebooks of null', { quota: { notebook: null } }, { quota: undefined }],
    [
      'a quota that forbids labs',
      { quota: { notebook: { cpu: 0, memory: 0, spawn: false } } },
      { quota: { cpu: 0, memoryBytes: 0, spawn: false } },
    ],
    [
      'a quota that says nothing of it',
      { quota: { notebook: { cpu: 1.5, memory: 2 } } },
      { quota: { cpu: 1.5, memoryBytes: 2 ** 31, spawn: true } },
    ],
  ])('accepts %s', async (_, change, expected) => {
    server.users.set('token-of-ada', { ...ada, ...change })
    const identity = await provider().identify()
    expect(identity).toMatchObject({ username: 'ada' })
    for (const [key, value] of Object.entries(expected)) expect(identity[key as 'uid']).toEqual(value)
  })

  it.each([
    ['no name', { username: undefined }],
    ['a name that is none', { username: 7 }],
    ['an empty name', { username: '' }],
    ['a UID of text', { uid: '4123' }],
    ['a negative UID', { uid: -1 }],
    ['a UID that is no whole number', { uid: 1.5 }],
    ['a UID too large', { uid: 2 ** 32 }],
    ['groups that are no list', { groups: {} }],
    ['a group that is text', { groups: ['ada'] }],
    ['a group without a name', { groups: [{ id: 1 }] }],
    ['a quota that is a number', { quota: 5 }],
    ['a quota of text', { quota: { notebook: { cpu: 'many' } } }],
    ['a permission of text', { quota: { notebook: { cpu: 1, memory: 1, spawn: 'false' } } }],
  ])('answers 503 for a user with %s', async (_, change) => {
    server.users.set('token-of-ada', { ...ada, ...change })
    expect(await refusalOf(provider().identify())).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
  })

  it.each([
    ['no user', { 'X-Auth-Request-User': null }],
    ['two users', { 'X-Auth-Request-User': 'ada, eve' }],
    ['one user twice', { 'X-Auth-Request-User': 'ada,ada' }],
    ['a user with a space', { 'X-Auth-Request-User': 'ada lovelace' }],
    ['a user in other letters', { 'X-Auth-Request-User': 'ad\u00e4' }],
    ['no token', { 'X-Auth-Request-Token': null }],
    ['two tokens', { 'X-Auth-Request-Token': 'token-of-ada, token-of-eve' }],
    ['a token with a space', { 'X-Auth-Request-Token': 'token-of-ada token-of-ada' }],
    ['a token without end', { 'X-Auth-Request-Token': 'x'.repeat(5000) }],
    ['no secret', { 'X-Skylab-Ingress-Secret': null }],
    ['another secret', { 'X-Skylab-Ingress-Secret': 'the-ingress-is-known-by-that' }],
    ['a part of the secret', { 'X-Skylab-Ingress-Secret': 'the-ingress' }],
    ['the secret twice', { 'X-Skylab-Ingress-Secret': `${secrets.user[0]}, ${secrets.user[0]}` }],
    ['both secrets', { 'X-Skylab-Ingress-Secret': secrets.user.join() }],
  ])('refuses %s without a question to Gafaelfawr', async (_, more) => {
    const { identify } = provider()
    expect(await refusalOf(identify(more))).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': 'Bearer' } })
    expect(server.asked).toEqual([])
  })

  it.each([
    ['the token of another', { 'X-Auth-Request-Token': 'token-of-eve' }],
    ['the name of another', { 'X-Auth-Request-User': 'eve' }],
    ['the name in capitals', { 'X-Auth-Request-User': 'ADA' }],
    ['a token that nobody knows', { 'X-Auth-Request-Token': 'token-of-adb' }],
    ['a bearer instead', { 'X-Auth-Request-Token': 'x', Authorization: 'Bearer token-of-ada' }],
  ])('refuses %s after a question to Gafaelfawr', async (_, more) => {
    expect(await refusalOf(provider().identify(more))).toMatchObject({ status: 401 })
  })

  it('accepts the next secret too, so that it can be changed', async () => {
    const { identify } = provider()
    expect(await identify({ 'X-Skylab-Ingress-Secret': secrets.user[1]! })).toMatchObject({ username: 'ada' })
  })
})

describe('createGafaelfawrIdentity for an administrator', () => {
  const scope = 'admin:jupyterlab'

  it('needs no token, and asks nothing', async () => {
    const { identify } = provider()
    for (const token of [null, 'token-of-eve', 'a, b']) {
      const identity = await identify({ 'X-Auth-Request-User': 'hub', 'X-Auth-Request-Token': token }, scope)
      expect(identity).toEqual({ username: 'hub', token: '', scopes: [scope], groups: [] })
    }
    expect(server.asked).toEqual([])
  })

  it.each([
    ['no secret', { 'X-Skylab-Ingress-Secret': null }],
    ['another secret', { 'X-Skylab-Ingress-Secret': 'x'.repeat(28) }],
    ['no user', { 'X-Auth-Request-User': null }],
    ['two users', { 'X-Auth-Request-User': 'ada, hub' }],
  ])('refuses %s', async (_, more) => {
    expect(await refusalOf(provider().identify(more, scope))).toMatchObject({ status: 401 })
  })

  it('accepts anyone with trustWithoutSecret', async () => {
    const { identify } = provider({ trustWithoutSecret: true })
    const nobody = { 'X-Skylab-Ingress-Secret': null, 'X-Auth-Request-Token': null }
    expect(await identify(nobody, scope)).toMatchObject({ username: 'ada' })
    expect(await refusalOf(identify(nobody))).toMatchObject({ status: 401 })
  })
})

describe('createGafaelfawrIdentity with a secret', () => {
  const both = ['exec:notebook', 'admin:jupyterlab'] as const

  it.each([
    ...secrets.user.map(secret => [secret, 'exec:notebook'] as const),
    ...secrets.admin.map(secret => [secret, 'admin:jupyterlab'] as const),
  ])('%s is accepted for %s only', async (secret, own) => {
    for (const scope of both) {
      const { identify } = provider()
      const identified = identify({ 'X-Skylab-Ingress-Secret': secret }, scope)
      if (scope === own) expect(await identified).toMatchObject({ username: 'ada', scopes: [scope] })
      else {
        expect(await refusalOf(identified)).toMatchObject({
          status: 403,
          detail: [{ type: 'scope_missing', loc: ['header', 'x-skylab-ingress-secret'] }],
        })
      }
    }
    expect(server.asked).toEqual(own === 'exec:notebook' ? ['token-of-ada'] : [])
  })

  it('of the ingress of labs opens no route of a scope', async () => {
    const header = { 'X-Skylab-Ingress-Secret': secrets.lab[0]! }
    for (const scope of both) {
      expect(await refusalOf(provider().identify(header, scope))).toMatchObject({ status: 403 })
    }
    await provider().requireLab(header)
  })

  it('of another ingress, or none, opens no route of labs', async () => {
    for (const [user] of [secrets.user, secrets.admin]) {
      const refused = provider().requireLab({ 'X-Skylab-Ingress-Secret': user! })
      expect(await refusalOf(refused)).toMatchObject({ status: 403, detail: [{ type: 'scope_missing' }] })
    }
    expect(await refusalOf(provider().requireLab({}))).toMatchObject({ status: 401 })
  })
})

describe('createGafaelfawrIdentity while Gafaelfawr fails', () => {
  const endless = ['never', 'half an answer']
  const seconds: Partial<Record<string, string>> = { busy: '7', 'put off for a year': '60' }

  it.each(Object.keys(faults) as (keyof typeof faults)[])('answers 503: %s', async name => {
    const { identify, lines, results } = provider({ timeoutSeconds: endless.includes(name) ? 1 : 20 })
    server.fault = faults[name]
    const error = await refusalOf(identify())
    expect(error).toMatchObject({ status: 503, headers: { 'Retry-After': seconds[name] ?? '1' } })
    expect(error.detail).toEqual([{ msg: expect.any(String), type: 'unavailable' }])
    expect(results).toEqual(['failed'])
    expect(lines.join()).toMatch(/"warn".*identity provider cannot be used/)
    expect(lines.join() + error.message).not.toMatch(/of-ada|html/)

    server.fault = undefined
    expect(await identify()).toMatchObject({ uid: 4123 })
  })

  it('answers 503 when nothing listens', async () => {
    const { identify } = provider()
    await server.stop()
    expect(await refusalOf(identify())).toMatchObject({ status: 503 })
    server = await FakeGafaelfawr.start()
  })

  it.each([
    [401, 401],
    [403, 403],
  ])('passes on %i, which is about the token, as %i', async (answer, status) => {
    const { identify, results, lines } = provider()
    server.fault = response => void response.writeHead(answer).end('token-of-ada')
    expect(await refusalOf(identify())).toMatchObject({ status })
    expect(results).toEqual(['refused'])
    expect(lines).toEqual([])
  })

  it('does not follow redirects with a token', async () => {
    const elsewhere = await FakeGafaelfawr.start()
    elsewhere.users.set('token-of-ada', ada)
    const Location = `${elsewhere.url}/auth/api/v1/user-info`
    for (const status of [301, 302, 303, 307, 308]) {
      server.fault = response => void response.writeHead(status, { Location }).end()
      expect(await refusalOf(provider().identify())).toMatchObject({ status: 503 })
    }
    expect(elsewhere.asked).toEqual([])
    await elsewhere.stop()
  })

  it('uses a cached answer only for the time of the cache', async () => {
    const { identify, clock } = provider({ cacheSeconds: 5 })
    await identify()
    server.fault = faults.error
    clock.advance(4500)
    expect(await identify()).toMatchObject({ uid: 4123 })
    clock.advance(500)
    expect(await refusalOf(identify())).toMatchObject({ status: 503 })
  })

  it('asks once more over a new connection when the kept one was closed', async () => {
    const { identify } = provider({ cacheSeconds: 0 })
    await identify()
    let first = true
    server.fault = response => {
      if (first) response.destroy()
      else response.end(JSON.stringify(ada))
      first = false
    }
    expect(await identify()).toMatchObject({ uid: 4123 })
    expect(server.asked).toHaveLength(3)
  })
})

describe('questions to Gafaelfawr', () => {
  it('are repeated when the answer is too old, and the new answer counts', async () => {
    const { identify, clock } = provider({ cacheSeconds: 5 })
    await identify()
    server.users.set('token-of-ada', { ...ada, uid: 9999 })
    expect(await identify()).toMatchObject({ uid: 4123 })
    clock.advance(5000)
    expect(await identify()).toMatchObject({ uid: 9999 })
    server.users.delete('token-of-ada')
    clock.advance(5000)
    expect(await refusalOf(identify())).toMatchObject({ status: 401 })
    expect(server.asked).toHaveLength(3)
  })

  it('do not depend on the wall clock, which may step', async () => {
    const { identify, clock } = provider({ cacheSeconds: 5 })
    await identify()
    clock.stepWall(-3_600_000)
    clock.advance(5000)
    await identify()
    expect(server.asked).toHaveLength(2)
  })

  it('about the same token at the same time are one', async () => {
    const { identify } = provider({ cacheSeconds: 0 })
    const release: (() => void)[] = []
    server.fault = response => void release.push(() => response.end(JSON.stringify(ada)))
    const all = Promise.all(Array.from({ length: 20 }, () => identify()))
    await server.whenAsked(1)
    release[0]!()
    expect(new Set((await all).map(({ uid }) => uid))).toEqual(new Set([4123]))
    expect(server.asked).toHaveLength(1)
  })

  it('that fail are not cached, also not for those who shared them', async () => {
    const { identify } = provider()
    server.fault = faults.error
    const refused = await Promise.all(Array.from({ length: 5 }, () => refusalOf(identify())))
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503])
    server.fault = undefined
    expect(await identify()).toMatchObject({ uid: 4123 })
  })

  it('are bounded in number; one that waits too long is answered 503', async () => {
    const { identify } = provider({ maxInFlight: 3, timeoutSeconds: 1 })
    server.fault = faults.never
    const tokens = Array.from({ length: 10 }, (_, index) => ({ 'X-Auth-Request-Token': `token-${index}` }))
    const all = tokens.map(more => refusalOf(identify(more)))
    // From the first time-out on the next are sent; the server notices late that the former were aborted.
    await Promise.race(all)
    expect(server.mostAtOnce).toBe(3)
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([503]))
  })

  it('that wait are bounded too, with one line in the log', async () => {
    const { identify, lines, results } = provider({ maxInFlight: 2, maxWaiting: 3, timeoutSeconds: 20 })
    const release: (() => void)[] = []
    server.fault = response => void release.push(() => response.end(JSON.stringify(ada)))
    const ask = (token: number) => identify({ 'X-Auth-Request-Token': `token-${token}` })
    const first = [1, 2, 3, 4, 5].map(ask)
    const late = await Promise.all([6, 7, 8].map(token => refusalOf(ask(token))))
    expect(late.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(lines.filter(line => line.includes('identity provider cannot be used'))).toHaveLength(1)
    for (let answered = 0; answered < 5; answered++) {
      await server.whenAsked(answered + 1)
      release[answered]!()
    }
    await Promise.all(first)
    expect(results).toEqual(['failed', 'failed', 'failed', 'ok', 'ok', 'ok', 'ok', 'ok'])
  })

  it('of one user that wait are 32 at most, whatever their tokens, and other users are served', async () => {
    const { identify } = provider({ timeoutSeconds: 20, cacheSeconds: 60 })
    const known = await identify()
    const release: (() => void)[] = []
    server.fault = response => void release.push(() => response.end(JSON.stringify({ username: 'eve' })))
    const eve = (token: string) => identify({ 'X-Auth-Request-User': 'eve', 'X-Auth-Request-Token': token })
    const waiting = Array.from({ length: 32 }, (_, i) => eve(i < 16 ? 'one' : 'another'))
    const refused = await refusalOf(eve('a-third'))
    expect(refused).toMatchObject({ status: 429, headers: { 'Retry-After': '1' } })
    expect(await identify()).toEqual(known)
    await server.whenAsked(3)
    for (const answer of release) answer()
    expect(new Set((await Promise.all(waiting)).map(({ username }) => username))).toEqual(new Set(['eve']))
    expect((await eve('one')).username).toBe('eve')
  })

  it('about ever more tokens do not fill the memory', async () => {
    const { identify } = provider({ cacheSeconds: 60, maxCached: 3 })
    server.fault = response => void response.end(JSON.stringify(ada))
    const ask = (token: number) => identify({ 'X-Auth-Request-Token': `token-${token}` })
    for (const token of [1, 2, 3, 4, 4, 3, 2, 1]) await ask(token)
    expect(server.asked.map(token => token.at(-1)).join()).toBe('1,2,3,4,1')
  })
})
