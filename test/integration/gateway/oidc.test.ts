/** Login at a real OpenID provider, by two gateways as processes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { formToken } from '../../../src/gateway/policy/form-token.ts'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { locationOf, TestBrowser } from '../../kit/gateway/browser.ts'
import { type OidcSite, startOidcSite } from '../../kit/gateway/oidc-site.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { origin, statusOf } from '../../kit/gateway/site.ts'

let at: OidcSite
beforeAll(async () => {
  at = await startOidcSite()
})
afterAll(() => at?.stop())
beforeEach(() => {
  at.issuer.person = 'ada'
})

const browser = () => new TestBrowser(at.site)
/** With another value of one parameter. */
function changed(target: string, name: string, value: string | undefined): string {
  const [path, query] = target.split('?')
  const parameters = new URLSearchParams(query)
  if (value === undefined) parameters.delete(name)
  else parameters.set(name, value)
  return `${path}?${parameters}`
}
const parameter = (target: string, name: string) => new URLSearchParams(target.split('?')[1]).get(name)!

describe('login', () => {
  test('leads from the app through the issuer, and back with a cookie that opens the app at each replica', async () => {
    const app = await at.site.app('orbits', echo)
    const ada = browser()
    const first = await ada.get('/console/apps/orbits/a?b=c')
    expect([statusOf(first), locationOf(first)]).toEqual([
      303,
      '/console/login?next=%2Fconsole%2Fapps%2Forbits%2Fa%3Fb%3Dc',
    ])
    const begun = await ada.get(locationOf(first))
    const asked = new URL(locationOf(begun))
    expect([statusOf(begun), asked.origin]).toEqual([303, at.issuer.url])
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      ...{ client_id: 'skylab-gateway', response_type: 'code', redirect_uri: `${origin}/console/callback` },
      ...{ scope: 'openid exec:notebook', code_challenge_method: 'S256', code_challenge: expect.any(String) },
      ...{ state: expect.stringMatching(/^[\w-]{43}$/), nonce: expect.stringMatching(/^[\w-]{43}$/) },
    })
    expect(begun).toMatch(
      /^set-cookie: __Host-Http-skylab-begun-[\w-]{8}=[^;]+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax\r$/im,
    )
    // The other replica ends what one has begun.
    const back = await ada.get(await ada.through(asked.href), 1)
    expect([statusOf(back), locationOf(back)]).toEqual([303, '/console/apps/orbits/a?b=c'])
    expect([...ada.cookies.keys()]).toEqual(['__Host-Http-skylab-login'])
    for (const gateway of [0, 1]) {
      const served = await at.site.ask('GET /console/apps/orbits/a?b=c', [`Cookie: ${ada.cookie}`], { gateway })
      expect(served).toContain('X-Forwarded-User: ada')
    }
    expect(app.text).not.toMatch(/skylab-(login|begun)/)
    const page = await ada.get('/console/login')
    expect([statusOf(page), page.includes('Log out')]).toEqual([200, true])
  })

  test('leads to no other place than an app', async () => {
    for (const next of [
      '//evil.example.org',
      'https://evil.example.org/',
      '/console/logout',
      '/console/apps/a/../../b',
    ]) {
      expect(locationOf(await browser().logIn(next))).toBe('/console/login')
    }
  })

  test('keeps logins that begin side by side apart, such as of tabs that a browser restores', async () => {
    const ada = browser()
    const tabs = ['/console/apps/a/', '/console/apps/b/', '/console/apps/c/']
    const back = []
    for (const next of tabs) back.push(await ada.comeBack(next))
    const led = []
    for (const target of back.toReversed()) led.push(locationOf(await ada.get(target)))
    expect(led).toEqual(tabs.toReversed())
    expect(ada.cookies.size).toBe(1)
  })

  test('a browser that begins again and again keeps few of them', async () => {
    const ada = browser()
    for (let i = 0; i < 12; i++) await ada.get('/console/login')
    expect(ada.cookies.size).toBeLessThanOrEqual(5)
    expect(statusOf(await ada.logIn())).toBe(303)
  })

  test('leaves nothing in Redis before it ends, and no token of the issuer that a copy could use', async () => {
    const before = await at.site.admin.keys('*')
    const ada = browser()
    const target = await ada.comeBack()
    expect(await at.site.admin.keys('*')).toEqual(before)
    await ada.get(target)
    const hash = hashOf(ada.cookies.get('__Host-Http-skylab-login')!)!
    const login = await at.site.admin.hgetall(at.site.keys.apps.login(hash))
    expect(login).toMatchObject({
      user: 'ada',
      groups: '["physics"]',
      sealed: expect.stringMatching(/^v1\.[0-9a-f]{12}\./),
    })
    // Neither a token of the issuer, nor what it is made of.
    expect(JSON.stringify(login)).not.toMatch(/eyJ|preferred_username|refresh/)
  })
})

describe('a way back', () => {
  const refused: readonly (readonly [
    string,
    (ada: TestBrowser, other: TestBrowser) => Promise<string>,
    number,
    RegExp,
  ])[] = [
    ['with another state', async ada => changed(await ada.comeBack(), 'state', 'x'.repeat(43)), 400, /did not begin/],
    ['without a state', async ada => changed(await ada.comeBack(), 'state', undefined), 400, /did not begin/],
    ['with two states', async ada => `${await ada.comeBack()}&state=x`, 400, /did not begin/],
    [
      'with the code of somebody else',
      async (ada, other) => codeOf(await ada.comeBack(), await other.comeBack()),
      403,
      /did not log you in/,
    ],
    [
      'of another issuer',
      async ada => changed(await ada.comeBack(), 'iss', 'https://evil.example.org'),
      403,
      /did not log you in/,
    ],
    ['without an issuer', async ada => changed(await ada.comeBack(), 'iss', undefined), 403, /did not log you in/],
    ['without a code', async ada => changed(await ada.comeBack(), 'code', undefined), 403, /did not log you in/],
    ['with an error', async ada => errorOf(await ada.comeBack(), 'access_denied'), 403, /did not log you in/],
    [
      'with an error that says it is away',
      async ada => errorOf(await ada.comeBack(), 'temporarily_unavailable'),
      503,
      /cannot log in now/,
    ],
    ['that began in another browser', (_, other) => other.comeBack(), 400, /did not begin/],
  ]
  const codeOf = (target: string, other: string) => changed(target, 'code', parameter(other, 'code'))
  const errorOf = (target: string, error: string) => changed(changed(target, 'code', undefined), 'error', error)

  test.each(refused)('%s logs nobody in', async (_, make, status, words) => {
    const [ada, other] = [browser(), browser()]
    at.issuer.person = 'ada'
    const answer = await ada.get(await make(ada, other))
    expect([statusOf(answer), answer]).toEqual([status, expect.stringMatching(words)])
    expect(ada.cookies.has('__Host-Http-skylab-login')).toBe(false)
    expect(answer).not.toMatch(/[?&]code=/)
  })

  test('that has a code with the nonce of another login logs nobody in', async () => {
    const ada = browser()
    const begun = new URL(locationOf(await ada.get('/console/login')))
    begun.searchParams.set('nonce', 'n'.repeat(43))
    const answer = await ada.get(await ada.through(begun.href))
    expect(statusOf(answer)).toBe(403)
  })

  test('leads somewhere once, at whichever replica', async () => {
    const ada = browser()
    const target = await ada.comeBack()
    const cookies = new Map(ada.cookies)
    expect(statusOf(await ada.get(target))).toBe(303)
    const thief = browser()
    for (const [name, value] of cookies) thief.cookies.set(name, value)
    const asked = at.issuer.calls
    expect(statusOf(await thief.get(target, 1))).toBe(400)
    expect(at.issuer.calls).toBe(asked)
    // The thief's try has ended nothing.
    expect(statusOf(await ada.get('/console/logout'))).toBe(200)
  })

  test('is asked for by GET alone', async () => {
    const ada = browser()
    const target = await ada.comeBack()
    expect(statusOf(await at.site.ask(`HEAD ${target}`, [`Cookie: ${ada.cookie}`]))).toBe(405)
    expect(statusOf(await ada.get(target))).toBe(303)
  })

  test('of somebody whose account lacks the scope logs nobody in', async () => {
    at.issuer.people.set('eve', { groups: ['physics'], isDenied: true })
    at.issuer.person = 'eve'
    const eve = browser()
    const answer = await eve.get(await eve.comeBack())
    expect([statusOf(answer), answer.includes('lacks exec:notebook')]).toEqual([403, true])
  })

  test('of somebody with a claim that cannot be used logs nobody in', async () => {
    at.issuer.people.set('odd', { groups: [], claims: { groups: 7 } })
    at.issuer.person = 'odd'
    const odd = browser()
    expect(statusOf(await odd.get(await odd.comeBack()))).toBe(403)
  })

  test('answers 503 in words while the issuer is away, and the next try works', async () => {
    const ada = browser()
    const target = await ada.comeBack('/console/apps/orbits/')
    const answer = await at.issuer.whileAway(() => ada.get(target))
    expect([statusOf(answer), answer.includes('The identity provider does not answer.')]).toEqual([503, true])
    expect(statusOf(await ada.logIn())).toBe(303)
  })

  test('of somebody else than who is logged in in this browser logs nobody in', async () => {
    await at.site.app('mine', echo)
    const [ada, author] = [browser(), browser()]
    await ada.logIn()
    at.issuer.person = 'grace'
    const target = await author.comeBack()
    // An app's script sets the cookie of the login that its author has begun.
    for (const [name, value] of author.cookies) ada.cookies.set(name, value)
    const answer = await ada.get(target)
    expect([statusOf(answer), answer.includes('Log out first')]).toEqual([409, true])
    const served = await at.site.ask('GET /console/apps/mine/', [`Cookie: ${ada.cookie}`])
    expect(served).toContain('X-Forwarded-User: ada')
  })

  test('costs nothing when it logs somebody in', async () => {
    const ada = browser()
    for (let i = 0; i < 12; i++) await ada.logIn('/console/apps/orbits/')
  })

  test('is refused with 429 after many that led nowhere from one address', async () => {
    const [ada, statuses] = [browser(), []] as [TestBrowser, number[]]
    // More than come back within the time of this test, whatever its pace.
    for (let i = 0; i < 300 && statuses.at(-1) !== 429; i++) {
      const state = new URL(locationOf(await ada.get('/console/login'))).searchParams.get('state')
      statuses.push(statusOf(await ada.get(`/console/callback?error=access_denied&state=${state}`, 1)))
    }
    expect(statuses.slice(0, 100)).toEqual(Array(100).fill(403))
    expect(statuses).toContain(429)
    expect(statusOf(await browser().logIn(undefined, 1))).toBe(303)
  })
})

test('a logout ends the login everywhere, and then the session at the issuer', async () => {
  await at.site.app('gone', echo)
  const ada = browser()
  await ada.logIn()
  const cookie = ada.cookie
  const token = /name="token" value="([^"]+)"/.exec(await ada.get('/console/logout'))![1]!
  const answer = await ada.post('/console/logout', { token })
  expect(statusOf(answer)).toBe(200)
  const led = new URL(/^refresh: 0; url=(\S+)/im.exec(answer)![1]!)
  expect([led.origin, led.pathname]).toEqual([at.issuer.url, '/session/end'])
  // An app's script can post this form, and read the answer.
  expect(answer).not.toMatch(/eyJ/)
  expect(Object.fromEntries(led.searchParams)).toEqual({
    ...{ client_id: 'skylab-gateway', post_logout_redirect_uri: `${origin}/console/logout` },
  })
  const page = await fetch(led)
  expect([page.status, (await page.text()).includes('/session/end/confirm')]).toEqual([200, true])
  expect(ada.cookies.has('__Host-Http-skylab-login')).toBe(false)
  for (const gateway of [0, 1]) {
    expect(statusOf(await at.site.ask('GET /console/apps/gone/', [`Cookie: ${cookie}`], { gateway }))).toBe(401)
  }
})

test('a form and a post to the login page of an issuer are not served', async () => {
  const answer = await at.site.ask('POST /console/login', [`Origin: ${origin}`], { body: 'token=x' })
  expect([statusOf(answer), /^allow: (.*)\r$/im.exec(answer)?.[1]]).toEqual([405, 'GET, HEAD'])
})

/** The issuer was last asked about this login so many ms earlier. */
async function aged(browser: TestBrowser, ms: number): Promise<string> {
  const key = at.site.keys.apps.login(hashOf(browser.cookies.get('__Host-Http-skylab-login')!)!)
  const created = Number(await at.site.admin.hget(key, 'createdMs'))
  await at.site.admin.hset(key, 'createdMs', created - ms)
  return key
}

test('a form that starts an app is refused to somebody whose group the issuer has taken away', async () => {
  await at.site.route('starts', { phase: 'Stopped', group: 'physics' })
  at.issuer.people.set('bob', { groups: ['physics'] })
  at.issuer.person = 'bob'
  const bob = browser()
  await bob.logIn()
  await aged(bob, 61_000)
  at.issuer.people.set('bob', { groups: [] })
  const token = formToken(bob.cookies.get('__Host-Http-skylab-login')!, 'start starts')
  expect(statusOf(await bob.post('/console/start/starts', { token }))).toBe(403)
})

test('a thousand requests of a login at both replicas ask the issuer once', async () => {
  const app = await at.site.app('many', echo)
  const ada = browser()
  await ada.logIn()
  const key = await aged(ada, 59_000)
  const asked = at.issuer.calls
  const request = (i: number) => ada.get('/console/apps/many/', i % 2)
  for (let i = 0; i < 1000; i += 20) await Promise.all(Array.from({ length: 20 }, (_, j) => request(i + j)))
  expect(app.lines).toHaveLength(1000)
  expect(at.issuer.calls - asked).toBe(1)
  expect(await at.site.admin.hget(key, 'checkedMs')).not.toBeNull()
})

test('a gateway whose issuer is away is ready, says so, and says when it is back', async () => {
  const troubles = async () => {
    const answer = await fetch(`${at.site.gateways[0]!.monitoringUrl}/readyz`)
    return { status: answer.status, text: await answer.text() }
  }
  expect(await troubles()).toEqual({ status: 200, text: expect.not.stringContaining('identity provider') })
  const ada = browser()
  const target = await ada.comeBack()
  await at.issuer.whileAway(async () => {
    await ada.get(target)
    expect(await troubles()).toEqual({
      status: 200,
      text: expect.stringContaining('the identity provider: nothing listens'),
    })
  })
  await ada.logIn()
  expect((await troubles()).text).not.toContain('identity provider')
})

test('a gateway asks its issuer at the start, before somebody logs in', () => {
  expect(at.issuer.asked.slice(0, 2)).toEqual(Array(2).fill('/.well-known/openid-configuration'))
})
