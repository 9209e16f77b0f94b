/** Login behind Gafaelfawr, by two gateways as processes: an ingress before `/console/login` says who it is. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeSealingKey } from '../../../dev/stack/config.ts'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { cookieIn, GatewaySite, statusOf } from '../../kit/gateway/site.ts'
import { FakeGafaelfawr, faults } from '../../kit/identity/gafaelfawr.ts'

const secret = 'the-secret-of-the-login-ingress'
const next = '/console/login?next=%2Fconsole%2Fapps%2Forbits%2F'
const recheckSeconds = 1

let source: FakeGafaelfawr
let site: GatewaySite
beforeAll(async () => {
  source = await FakeGafaelfawr.start()
  site = await GatewaySite.start({
    gateways: 2,
    files: { 'login.secret': secret, 'gateway.key': makeSealingKey() },
    config: {
      identity: { provider: 'gafaelfawr', gafaelfawr: { baseUrl: source.url, cacheSeconds: 0, timeoutSeconds: 2 } },
      gateway: {
        ...{ login: 'gafaelfawr', keyFiles: ['gateway.key'], gafaelfawr: { secretFiles: ['login.secret'] } },
        recheckSeconds,
      },
    },
  })
  await site.app('orbits', echo)
})
afterAll(async () => {
  await site?.stop()
  await source?.stop()
})
beforeEach(() => {
  source.fault = undefined
  source.users.set('gt-ada', { username: 'ada', groups: [{ name: 'physics', id: 4001 }] })
})

/** As the ingress sends them. */
const headers = (user = 'ada', token = `gt-${user}`) => [
  `X-Auth-Request-User: ${user}`,
  `X-Auth-Request-Token: ${token}`,
  `X-Skylab-Ingress-Secret: ${secret}`,
]

test('a request of the ingress logs in, and leads to the app at each replica', async () => {
  const answer = await site.ask(`GET ${next}`, headers())
  expect([statusOf(answer), /^location: (.*)\r$/im.exec(answer)?.[1]]).toEqual([303, '/console/apps/orbits/'])
  const cookie = cookieIn(answer, '__Host-Http-skylab-login')
  for (const gateway of [0, 1]) {
    const served = await site.ask('GET /console/apps/orbits/', [`Cookie: ${cookie}`], { gateway })
    expect(served).toContain('X-Forwarded-User: ada')
  }
  const stored = await site.admin.hgetall(site.keys.apps.login(hashOf(cookie.split('=')[1]!)!))
  expect([stored.groups, JSON.stringify(stored).includes('gt-ada')]).toEqual(['["physics"]', false])
})

test.each([
  ['no secret', [...headers().slice(0, 2)]],
  ['another secret', [...headers().slice(0, 2), 'X-Skylab-Ingress-Secret: the-secret-of-another-ingress']],
  ['the secret twice', [...headers(), `X-Skylab-Ingress-Secret: ${secret}`]],
  ['two names', [...headers(), 'X-Auth-Request-User: root']],
  ['no token', [headers()[0]!, headers()[2]!]],
  ['the token of somebody else', headers('root', 'gt-ada')],
  ['a token that nobody has', headers('ada', 'gt-nobody')],
])('a request with %s logs nobody in', async (_, lines) => {
  const answer = await site.ask(`GET ${next}`, [...lines, 'X-Forwarded-For: 198.51.100.7'])
  expect([statusOf(answer), /set-cookie/i.test(answer)]).toEqual([403, false])
})

test('guesses of the secret from one address are slowed down', async () => {
  const guess = ['X-Skylab-Ingress-Secret: guess-guess-guess', 'X-Forwarded-For: 198.51.100.8']
  const statuses = []
  for (let i = 0; i < 300 && statuses.at(-1) !== 429; i++) {
    statuses.push(statusOf(await site.ask(`GET ${next}`, guess, { gateway: 1 })))
  }
  expect([statuses[0], statuses.at(-1)]).toEqual([403, 429])
})

test('a login is answered 503 in words while Gafaelfawr is away', async () => {
  source.fault = faults.error
  const answer = await site.ask(`GET ${next}`, headers())
  expect([statusOf(answer), answer.includes('The identity provider does not answer.')]).toEqual([503, true])
})

test('headers of a client on other paths say nothing', async () => {
  const answer = await site.ask('GET /console/apps/orbits/', [...headers(), 'Accept: text/html'])
  expect([statusOf(answer), answer.includes('/console/login?next=')]).toEqual([303, true])
})

test('a bearer token is not known, since the ingress keeps those of Gafaelfawr back', async () => {
  const answer = await site.ask('GET /console/apps/orbits/', ['Authorization: Bearer gt-ada'])
  expect(statusOf(answer)).toBe(401)
})

test.each([
  ['a group that is taken away', () => void source.users.set('gt-ada', { username: 'ada', groups: [] }), 403],
  ['a token that is revoked', () => void source.users.delete('gt-ada'), 401],
])('%s cuts what is open, and lets nobody in by it', async (_, change, status) => {
  const cookie = cookieIn(await site.ask(`GET ${next}`, headers()), '__Host-Http-skylab-login')
  expect(await site.cutAfter('orbits', cookie, change)).toBeLessThan(recheckSeconds * 1000 + 5_000)
  expect(statusOf(await site.ask('GET /console/apps/orbits/', [`Cookie: ${cookie}`]))).toBe(status)
})
