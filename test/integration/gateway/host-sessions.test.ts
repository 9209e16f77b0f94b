/** Apps at hosts of their own: what a code and a session are worth. Two gateways on one Redis. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { newId } from '../../../src/store/apps/ids.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { clientFrame, cookieIn, GatewaySite, host, origin, statusOf, upgrade } from '../../kit/gateway/site.ts'
import {
  addressOf,
  appCookie,
  appDomain,
  hostOf,
  ledTo,
  nonceCookie,
  originOf,
  SplitBrowser,
} from '../../kit/gateway/split-site.ts'

let site: GatewaySite
beforeAll(async () => {
  site = await GatewaySite.start({ gateways: 2, config: { gateway: { appDomain } } })
})
afterAll(() => site?.stop())

const sessions = async () => (await site.admin.keys(site.keys.apps.session('*'))).length

const entered = (id: string, user = 'ada') => SplitBrowser.in(site, id, user)

describe('a code', () => {
  /** @returns the answer, which must let nobody in */
  async function refused(address: string, browser: SplitBrowser, status: number, gateway = 0): Promise<string> {
    const before = await sessions()
    const away = await browser.get(address, { gateway })
    expect([statusOf(away), ledTo(away)]).toEqual([303, expect.stringMatching(/^\/console\/enter\?ended=[a-z]+$/)])
    expect(away).toMatch(/^referrer-policy: no-referrer\r$/im)
    expect(away).toMatch(/^cross-origin-opener-policy: same-origin\r$/im)
    const answer = await browser.get(new URL(ledTo(away)!, address).href, { gateway })
    expect(statusOf(answer)).toBe(status)
    expect(away + answer).not.toMatch(/^set-cookie/im)
    expect(await sessions()).toBe(before)
    return answer
  }
  const foreign = 'This way into the app did not begin in this browser, took too long, or was used before.'

  async function ready(id: string, user = 'ada') {
    const app = await site.app(id, echo)
    const browser = new SplitBrowser(site)
    await browser.logIn(user)
    return { app, browser, address: await browser.code(id) }
  }

  test('lets in once, at whichever replica', async () => {
    const { browser, address } = await ready('once')
    const cookies = browser.cookiesTo(hostOf('once'))
    expect(statusOf(await browser.get(address, { gateway: 1 }))).toBe(303)
    // The nonce is there still.
    const again = new SplitBrowser(site)
    const [name, value] = cookies[0]!.replace('Cookie: ', '').split('=') as [string, string]
    expect(name).toContain(nonceCookie)
    again.cookies.set(hostOf('once'), new Map([[name, value]]))
    for (const gateway of [0, 1]) expect(await refused(address, again, 400, gateway)).toContain(foreign)
  })

  test('lets nobody in from another browser, and is used up by the try', async () => {
    const { browser, address } = await ready('other')
    const thief = new SplitBrowser(site)
    await thief.logIn('ada')
    await thief.get(addressOf('other'))
    const answer = await refused(address, thief, 400)
    expect(answer).toContain(foreign)
    expect(answer).toContain('<a href="/console/apps/other/">')
    expect(answer).toMatch(/^cross-origin-opener-policy: same-origin\r$/im)
    await refused(address, browser, 400)
  })

  test('lets nobody in whose nonce has only the beginning of its hash', async () => {
    const { browser, address } = await ready('nonce')
    const kept = browser.cookies.get(hostOf('nonce'))!
    const [name] = [...kept.keys()]
    kept.set(name!, newId())
    await refused(address, browser, 400)
  })

  test('lets nobody into another app', async () => {
    const { browser, address } = await ready('mine')
    await site.app('yours', echo)
    await browser.code('yours')
    const [name, value] = [...browser.cookies.get(hostOf('mine'))!][0]!
    browser.cookies.get(hostOf('yours'))!.set(name, value)
    await refused(address.replace('mine.', 'yours.'), browser, 400)
  })

  test('lets nobody in after a minute', async () => {
    const { browser, address } = await ready('late')
    const [key] = await site.admin.keys(site.keys.apps.code('*'))
    for (const each of await site.admin.keys(site.keys.apps.code('*'))) {
      expect(await site.admin.pttl(each)).toBeLessThanOrEqual(60_000)
      await site.admin.pexpire(each, 0)
    }
    expect(key).toBeDefined()
    await refused(address, browser, 400)
  })

  test('lets nobody into a later app of the name', async () => {
    const { app, browser, address } = await ready('reborn')
    await site.routes.remove('reborn', 'uid-of-reborn')
    await site.route('reborn', { address: app.address, uid: 'uid-of-another', createdMs: 99 })
    expect(await refused(address, browser, 403, 1)).toContain('replaced by another one')
    expect(statusOf((await browser.open(addressOf('reborn'))).at(-1)!.answer)).toBe(200)
  })

  test.each<[string, (browser: SplitBrowser) => Promise<unknown>]>([
    ['logged out', async browser => site.admin.del(...(await loginKeys(browser)))],
    ['was revoked', async () => site.revocations.revoke({ user: 'ada' })],
  ])('lets nobody in who has %s meanwhile', async (_, change) => {
    const { browser, address } = await ready('gone')
    await change(browser)
    expect(await refused(address, browser, 403)).toContain('Your login has just ended.')
  })

  const loginKeys = async (_: SplitBrowser) => site.admin.keys(site.keys.apps.login('*'))

  test.each(['', '?code=', `?code=${newId()}`, `?code=${newId()}&code=${newId()}`, '?code=../x'])(
    'that nobody made lets nobody in: %j',
    async query => {
      await refused(`${originOf('once')}/console/enter${query}`, new SplitBrowser(site), 400)
    },
  )

  test.each([
    '//evil.org',
    'https://evil.org/',
    '/console/apps/other/',
    '/console/login',
    '/console/apps/next/%2e%2e/',
  ])('leads to its own app when next is %j', async next => {
    const { browser, address } = await ready('next')
    const url = new URL(address)
    url.searchParams.set('next', next)
    expect(ledTo(await browser.get(url.href))).toBe('/console/apps/next/')
  })

  test('is in no log, nor is what it leads to', async () => {
    const { browser, address } = await ready('silent')
    const answer = await browser.get(address)
    const secrets = [new URL(address).searchParams.get('code')!, cookieIn(answer, appCookie).split(/[=.]/)[1]!]
    const isTold = async () => (await site.log(0)).includes('"route":"/console/enter"')
    await waitUntil(isTold, { what: 'the line of the request', limitMs: 10_000 })
    for (const gateway of [0, 1]) for (const secret of secrets) expect(await site.log(gateway)).not.toContain(secret)
  })
})

describe('a session at the host of an app', () => {
  const asked = (id: string, cookie: string, more: readonly string[] = []) =>
    site.ask(`GET /console/apps/${id}/`, [`Cookie: ${cookie}`, ...more], { at: hostOf(id) })

  test('is all that counts there, and nothing without its login', async () => {
    const app = await site.app('worth', echo)
    const [ada, grace] = [await entered('worth'), await entered('worth', 'grace')]
    const cookieOf = (browser: SplitBrowser) => browser.cookies.get(hostOf('worth'))!.get(appCookie)!
    const [session, login] = cookieOf(ada).split('.') as [string, string]
    const loginOfGrace = cookieOf(grace).split('.')[1]!
    const loginCookie = ada.cookiesTo(host)[0]!.replace('Cookie: ', '')
    const before = app.lines.length
    for (const cookie of [
      loginCookie,
      `${appCookie}=${newId()}.${login}`,
      `${appCookie}=${session}.${loginOfGrace}`,
      `${appCookie}=${session}.${'0'.repeat(64)}`,
      `${appCookie}=${session}`,
      `phapplication-session-id=${session}; ${loginCookie}`,
    ]) {
      expect(statusOf(await asked('worth', cookie))).toBe(401)
    }
    expect(app.lines).toHaveLength(before)
    expect(statusOf(await asked('worth', `${appCookie}=${session}.${login}`))).toBe(200)
    // Another app takes it for nobody's.
    await site.app('worthless', echo)
    expect(statusOf(await asked('worthless', `${appCookie}=${session}.${login}`))).toBe(401)
    // At the platform it is nothing either.
    const atPlatform = await site.ask('GET /console/logout', [`Cookie: ${appCookie}=${session}.${login}`])
    expect(atPlatform).not.toContain('You are <bdi>ada')
  })

  test('ends for a later app of the name, and for who is no member any more', async () => {
    const app = await site.app('ending', echo, { group: 'endings', audience: { kind: 'loggedIn' } })
    const browser = await entered('ending')
    await site.route('ending', { address: app.address, group: 'endings' })
    const answer = await browser.get(addressOf('ending'))
    expect([statusOf(answer), answer.includes('<bdi>endings</bdi>')]).toEqual([403, true])
    await site.routes.remove('ending', 'uid-of-ending')
    await site.route('ending', { address: app.address, uid: 'next', createdMs: 99, audience: { kind: 'loggedIn' } })
    expect(statusOf(await browser.get(addressOf('ending')))).toBe(303)
  })

  test('takes posts and WebSockets of its own pages, and nothing of a sibling’s', async () => {
    const app = await site.app('posts', echo)
    const browser = await entered('posts')
    const at = hostOf('posts')
    const cookies = browser.cookiesTo(at)
    const before = app.lines.length
    const post = (from: string, more: readonly string[] = []) =>
      site.ask('POST /console/apps/posts/x', [...cookies, `Origin: ${from}`, ...more], { body: 'a', at })
    const socket = async (from: string) => {
      const client = await site.client()
      client.write(upgrade('/console/apps/posts/ws', cookies, from).replace(`Host: ${host}`, `Host: ${at}`))
      await client.has('\r\n\r\n')
      return statusOf(client.text)
    }
    for (const from of [originOf('other-host'), origin, 'null', `${originOf('posts')}.evil.org`]) {
      expect(statusOf(await post(from))).toBe(403)
      expect(await socket(from)).toBe(403)
    }
    const image = ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: no-cors', 'Sec-Fetch-Dest: image']
    const frame = ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe']
    for (const lines of [image, frame]) {
      expect(statusOf(await site.ask('GET /console/apps/posts/', [...cookies, ...lines], { at }))).toBe(403)
    }
    expect(app.lines).toHaveLength(before)
    expect(statusOf(await post(originOf('posts')))).toBe(200)
    expect(await socket(originOf('posts'))).toBe(101)
    const link = ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document']
    expect(statusOf(await site.ask('GET /console/apps/posts/', [...cookies, ...link], { at }))).toBe(200)
  })

  test('is cut with its login, at each replica', async () => {
    await site.app('cut', echo)
    const browser = await entered('cut')
    const at = hostOf('cut')
    const open = await Promise.all(
      [0, 1].map(async gateway => {
        const client = await site.client(gateway)
        const head = upgrade('/console/apps/cut/ws', browser.cookiesTo(at), originOf('cut'))
        client.write(head.replace(`Host: ${host}`, `Host: ${at}`))
        await client.has('\r\n\r\n')
        client.write(clientFrame('before'))
        await client.has('before')
        return client
      }),
    )
    const page = await browser.get(`${origin}/console/logout`)
    const token = /name="token" value="([^"]*)"/.exec(page)![1]!
    const began = performance.now()
    expect(statusOf(await browser.post('/console/logout', { token }))).toBe(303)
    await Promise.all(open.map(client => client.over()))
    expect(performance.now() - began).toBeLessThan(5_000)
    const steps = await browser.open(addressOf('cut'))
    expect(steps.at(-1)!.url).toContain('/console/login?next=')
  })
})
