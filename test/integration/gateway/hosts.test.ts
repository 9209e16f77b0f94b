/** Apps at hosts of their own: what is where, and the way there. Two gateways on one Redis. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { echo } from '../../kit/gateway/raw-app.ts'
import { cookieIn, GatewaySite, host, origin, statusOf } from '../../kit/gateway/site.ts'
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

describe('the way to an app', () => {
  test('leads over the login at the platform to a session at the host of the app, which holds at each replica', async () => {
    const app = await site.app('way', echo)
    const browser = new SplitBrowser(site)
    const asked = await browser.open(addressOf('way', 'a?b=c'))
    const [first, second, form] = asked
    expect(asked.map(({ answer }) => statusOf(answer))).toEqual([303, 303, 200])
    expect(second!.url).toMatch(/^https:\/\/platform\.example\.org\/console\/enter\/way\?nonce=[0-9a-f]{64}&next=/)
    expect(first!.answer).toMatch(/^referrer-policy: no-referrer\r$/im)
    expect(form!.url).toBe(`${origin}/console/login?next=%2Fconsole%2Fapps%2Fway%2Fa%3Fb%3Dc`)
    expect(form!.answer).toContain(`form-action 'self' https://*.${appDomain};`)
    expect(app.text).toBe('')

    const posted = await browser.post('/console/login', { token: 'ada-token', next: '/console/apps/way/a?b=c' })
    expect([statusOf(posted), ledTo(posted)]).toEqual([303, '/console/apps/way/a?b=c'])
    const steps = await browser.open(`${origin}/console/apps/way/a?b=c`)
    expect(steps.map(({ url, answer }) => [new URL(url).host, new URL(url).pathname, statusOf(answer)])).toEqual([
      [host, '/console/apps/way/a', 303],
      [hostOf('way'), '/console/apps/way/a', 303],
      [host, '/console/enter/way', 303],
      [hostOf('way'), '/console/enter', 303],
      [hostOf('way'), '/console/apps/way/a', 200],
    ])
    for (const { answer } of steps.slice(2, 4)) {
      expect(answer).toMatch(/^referrer-policy: no-referrer\r$/im)
      expect(answer).toMatch(/^cross-origin-opener-policy: same-origin\r$/im)
      expect(answer).toMatch(/^cache-control: no-store\r$/im)
    }
    expect(cookieIn(steps[3]!.answer, appCookie)).toMatch(/^__Host-Http-skylab-app=[\w-]{43}\.[0-9a-f]{64}$/)
    // The first way ended at the login, so its nonce is there still.
    const kept = [...browser.cookies.get(hostOf('way'))!.keys()]
    expect(kept).toEqual([expect.stringContaining(nonceCookie), appCookie])
    const before = await sessions()
    for (const gateway of [0, 1]) expect(statusOf(await browser.get(addressOf('way', 'a?b=c'), { gateway }))).toBe(200)
    expect(await sessions()).toBe(before)

    expect(app.lines).toEqual(Array(3).fill('GET /console/apps/way/a?b=c HTTP/1.1'))
    expect(app.text).toContain('X-Forwarded-User: ada')
    expect(app.text).toContain(`X-Forwarded-Host: ${hostOf('way')}`)
    expect(app.text).not.toMatch(/skylab-|code=|nonce=|^referer/im)
  })

  test('says who may not, and says nothing of apps to those who are not logged in', async () => {
    await site.app('chem', echo, { group: 'chemistry' })
    const stranger = new SplitBrowser(site)
    const [known, unknown] = [await stranger.open(addressOf('chem')), await stranger.open(addressOf('nothing'))]
    const shape = (steps: typeof known) =>
      steps.map(({ url, answer }) => [url.replaceAll(/chem|nothing/g, 'ID').replace(/nonce=\w+/, ''), statusOf(answer)])
    expect(shape(known)).toEqual(shape(unknown))
    const browser = new SplitBrowser(site)
    await browser.logIn('ada')
    const forbidden = (await browser.open(addressOf('chem'))).at(-1)!
    expect([new URL(forbidden.url).host, statusOf(forbidden.answer)]).toEqual([host, 403])
    expect(forbidden.answer).toContain('<bdi>chemistry</bdi>')
    expect(statusOf((await browser.open(addressOf('nothing'))).at(-1)!.answer)).toBe(404)
    expect(browser.cookies.get(hostOf('chem'))?.has(appCookie)).toBe(false)
  })

  test('is not gone where everybody may enter', async () => {
    const app = await site.app('open', echo, { audience: { kind: 'public' } })
    const browser = new SplitBrowser(site)
    const steps = await browser.open(addressOf('open'))
    expect(steps.map(({ answer }) => statusOf(answer))).toEqual([200])
    expect(steps[0]!.answer).not.toMatch(/^set-cookie/im)
    await browser.logIn('ada')
    const led = await browser.get(`${origin}/console/enter/open?nonce=${'a'.repeat(64)}`)
    expect(ledTo(led)).toBe(addressOf('open'))
    expect(app.text).not.toContain('X-Forwarded-User')
  })

  test('leads to the first page of an app when the path is too long for an address', async () => {
    await site.app('long', echo)
    const browser = new SplitBrowser(site)
    await browser.logIn('ada')
    const steps = await browser.open(addressOf('long', '('.repeat(1_500)))
    expect(steps.map(({ answer }) => statusOf(answer))).toEqual([303, 303, 303, 200])
    expect(steps.at(-1)!.url).toBe(addressOf('long'))
  })

  test('begins anew for a host without a path', async () => {
    const answer = await new SplitBrowser(site).get(`${originOf('way')}/`)
    expect([statusOf(answer), ledTo(answer)]).toEqual([303, '/console/apps/way/'])
  })

  test('is for tabs alone, and asked by GET', async () => {
    await site.app('tabs', echo)
    const browser = new SplitBrowser(site)
    await browser.logIn('ada')
    const way = `/console/enter/tabs?nonce=${'a'.repeat(64)}`
    const asked = (line: string, dest: string, more: readonly string[] = [], at = host) =>
      site.ask(line, [...browser.cookiesTo(host), 'Sec-Fetch-Mode: navigate', `Sec-Fetch-Dest: ${dest}`, ...more], {
        at,
      })
    expect(ledTo(await asked(`GET ${way}`, 'document'))).toContain('code=')
    for (const dest of ['iframe', 'object', 'empty']) {
      const answer = await asked(`GET ${way}`, dest)
      expect([statusOf(answer), ledTo(answer)]).toEqual([403, undefined])
    }
    for (const method of ['HEAD', 'POST']) expect(statusOf(await asked(`${method} ${way}`, 'document'))).toBe(405)
    for (const nonce of [
      '',
      '?nonce=',
      `?nonce=${'A'.repeat(64)}`,
      `?nonce=${'a'.repeat(64)}&nonce=${'b'.repeat(64)}`,
    ]) {
      expect(statusOf(await asked(`GET /console/enter/tabs${nonce}`, 'document'))).toBe(400)
    }
    const code = await browser.code('tabs')
    const { pathname, search } = new URL(code)
    for (const [method, dest] of [
      ['HEAD', 'document'],
      ['POST', 'document'],
      ['GET', 'iframe'],
    ] as const) {
      const lines = browser.cookiesTo(hostOf('tabs'))
      const answer = await asked(`${method} ${pathname}${search}`, dest, lines, hostOf('tabs'))
      expect([statusOf(answer), ledTo(answer)]).toEqual([303, '/console/enter?ended=refused'])
    }
    // None of them has used it.
    expect(statusOf(await browser.get(code))).toBe(303)
  })

  test('ends after sixty codes of one login at once, and leaves others alone', async () => {
    await site.app('many', echo)
    const browser = new SplitBrowser(site)
    await browser.logIn('ada')
    const lines = browser.cookiesTo(host)
    const way = `GET /console/enter/many?nonce=${'a'.repeat(64)}`
    const answers = await Promise.all(Array.from({ length: 90 }, () => site.ask(way, lines)))
    const slow = answers.filter(answer => statusOf(answer) === 429)
    expect(slow.length).toBeGreaterThan(10)
    expect(slow[0]).toMatch(/^retry-after: [1-9]/im)
    await entered('many', 'grace')
  })
})

describe('hosts', () => {
  test.each<[string, string, number, string | undefined]>([
    [`GET /console/apps/host/`, 'host', 200, undefined],
    [`GET /console/apps/host`, 'host', 308, '/console/apps/host/'],
    [`GET /console/apps/other-host/`, 'host', 421, undefined],
    [`GET /console/apps/host/`, 'other-host', 421, undefined],
    ...['login', 'logout', 'callback', 'start/host', `enter/host?nonce=${'a'.repeat(64)}`].map(
      (page): [string, string, number, undefined] => [`GET /console/${page}`, 'host', 404, undefined],
    ),
    ['POST /console/logout', 'host', 404, undefined],
    ['GET /console/apps/host/a?b', '', 303, addressOf('host', 'a?b')],
    ['GET /console/apps/host', '', 303, `${originOf('host')}/console/apps/host`],
    ['GET /console/apps/nothing/', '', 303, addressOf('nothing')],
    ['POST /console/apps/host/', '', 421, undefined],
    ['GET /console/enter?code=x', '', 303, '/console/enter?ended=refused'],
    ['GET /console/enter?ended=refused', '', 404, undefined],
    ['GET /console/apps/host/', 'x.host', 421, undefined],
  ])('of %s at the host %j make %i', async (line, id, status, location) => {
    await site.app('host', echo)
    await site.app('other-host', echo)
    const browser = await entered('host')
    const at = id === '' ? host : hostOf(id)
    const answer = await site.ask(line, ['Accept: text/html', ...browser.cookiesTo(hostOf('host'))], { at })
    expect([statusOf(answer), ledTo(answer)]).toEqual([status, location])
  })

  test('of apps show a program where an app is not', async () => {
    const app = await site.app('program', echo)
    const bearer = ['Authorization: Bearer ada-token']
    const at = hostOf('program')
    expect(statusOf(await site.ask('GET /console/apps/program/', bearer, { at }))).toBe(200)
    expect(app.text).toContain('X-Forwarded-User: ada')
    expect(app.text).not.toContain('ada-token')
    expect(statusOf(await site.ask('GET /console/apps/program/', bearer))).toBe(421)
    expect(statusOf(await site.ask('GET /console/apps/program/', [], { at }))).toBe(401)
  })
})

describe('an app that is stopped', () => {
  test('is started at the platform, where its host leads', async () => {
    await site.app('stopped', echo)
    const browser = await entered('stopped')
    await site.route('stopped', { phase: 'Stopped' })
    const page = await browser.get(addressOf('stopped'))
    expect(statusOf(page)).toBe(503)
    expect(page).not.toContain('<form')
    expect(page).toContain(`<a href="${origin}/console/start/stopped">`)
    const form = await browser.get(`${origin}/console/start/stopped`)
    expect(statusOf(form)).toBe(503)
    expect(form).toMatch(/^x-frame-options: DENY\r$/im)
    const token = /name="token" value="([^"]*)"/.exec(form)![1]!
    const started = await browser.post('/console/start/stopped', { token })
    expect([statusOf(started), started.includes('Somebody has asked to start it.')]).toEqual([503, true])
    expect(await site.admin.hkeys(site.keys.apps.intents)).toContain('stopped')
    await site.route('stopped', { phase: 'Starting' })
    expect(ledTo(await browser.get(`${origin}/console/start/stopped`))).toBe(addressOf('stopped'))
  })

  test('is started by no page of another origin, and by nobody else', async () => {
    await site.app('kept', echo, { phase: 'Stopped', audience: { kind: 'loggedIn' } })
    const [ada, eve] = [new SplitBrowser(site), new SplitBrowser(site)]
    await ada.logIn('ada')
    await eve.logIn('eve')
    const form = await ada.get(`${origin}/console/start/kept`)
    const token = /name="token" value="([^"]*)"/.exec(form)![1]!
    const type = 'Content-Type: application/x-www-form-urlencoded'
    for (const from of [originOf('kept'), 'null']) {
      const lines = [...ada.cookiesTo(host), `Origin: ${from}`, type]
      expect(statusOf(await site.ask('POST /console/start/kept', lines, { body: `token=${token}` }))).toBe(403)
    }
    expect(ledTo(await eve.get(`${origin}/console/start/kept`))).toBe(addressOf('kept'))
    expect(ledTo(await new SplitBrowser(site).get(`${origin}/console/start/kept`))).toContain('/console/login?next=')
    const page = (await eve.open(addressOf('kept'))).at(-1)!.answer
    expect([statusOf(page), page.includes('/console/start/')]).toEqual([503, false])
    expect(await site.admin.hkeys(site.keys.apps.intents)).not.toContain('kept')
  })
})
