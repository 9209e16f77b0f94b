import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Siblings, siblingDomain, siblingHost, siblingUrl } from '../../kit/gateway/siblings.ts'
import { host, origin } from '../../kit/gateway/site.ts'
import { appCookie, nonceCookie } from '../../kit/gateway/split-site.ts'

const loginCookie = '__Host-Http-skylab-login'

let siblings: Siblings
beforeAll(async () => {
  siblings = await Siblings.start()
})
afterAll(() => siblings?.stop())

describe('a hostile app at a host of its own', () => {
  test('sees no cookie of the gateway, and sets none for itself, its sibling or the platform', async () => {
    const [own, other, login] = [
      await siblings.cookie(appCookie, siblingUrl('evil')),
      await siblings.cookie(appCookie, siblingUrl('good')),
      await siblings.cookie(loginCookie, origin),
    ]
    expect([own, other, login]).toMatchObject([
      { domain: siblingHost('evil'), path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
      { domain: siblingHost('good'), path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
      { domain: host, path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
    ])
    expect(await siblings.run('document.cookie')).not.toContain('skylab')
    for (const name of [appCookie, loginCookie, `${nonceCookie}12345678`]) {
      for (const domain of [
        '',
        `; Domain=${siblingDomain}`,
        '; Domain=example.org',
        `; Domain=${siblingHost('good')}`,
      ]) {
        await siblings.run(`document.cookie = '${name}=scripted; Path=/; Secure${domain}'`)
      }
    }
    // These two show that it can set cookies: for itself, and for all hosts below the domain.
    await siblings.run(`document.cookie = '__Host-other=1; Path=/; Secure'`)
    await siblings.run(`document.cookie = 'tossed=1; Path=/; Secure; Domain=${siblingDomain}'`)
    // The browser sets cookies after the script has gone on. It reads them after all that it was to set.
    expect(await siblings.run('document.cookie')).toContain('tossed=1')
    const namesAt = async (at: string) =>
      (await siblings.context.cookies(at))
        .map(({ name }) => name)
        .filter(name => !name.startsWith(nonceCookie))
        .sort()
    expect(await namesAt(siblingUrl('evil'))).toEqual([appCookie, '__Host-other', 'tossed', 'wide'].sort())
    expect(await namesAt(siblingUrl('good'))).toEqual([appCookie, 'tossed'].sort())
    expect(await namesAt(origin)).toEqual([loginCookie])
    expect(JSON.stringify(await siblings.context.cookies())).not.toMatch(/scripted|planted/)
    await siblings.context.clearCookies({ name: 'tossed' })
    expect([
      await siblings.cookie(appCookie, siblingUrl('evil')),
      await siblings.cookie(appCookie, siblingUrl('good')),
    ]).toEqual([own, other])
    // Its server's cookie for the domain is one of its own host.
    expect(await siblings.cookie('wide', siblingUrl('evil'))).toMatchObject({
      domain: siblingHost('evil'),
      path: '/console/apps/evil',
    })
  })

  const toSibling: readonly (readonly [string, string, string])[] = [
    ['reads by fetch', 'GET', `fetch('URL', { credentials: 'include' }).then(() => 'read', e => e.name)`],
    ['reads blindly', 'GET', `fetch('URL', { credentials: 'include', mode: 'no-cors' }).then(a => a.type)`],
    [
      'posts by fetch',
      'POST',
      `fetch('URL', { method: 'POST', body: 'a=b', credentials: 'include', mode: 'no-cors' }).then(a => a.type)`,
    ],
    [
      'loads an image',
      'GET',
      `new Promise(done => { const i = new Image(); i.onload = () => done('loaded'); i.onerror = () => done('error'); i.src = 'URL' })`,
    ],
    [
      'opens a WebSocket',
      'GET',
      `new Promise(done => { const s = new WebSocket('URL'.replace('https:', 'wss:')); s.onopen = () => done('open'); s.onerror = () => done('error') })`,
    ],
    [
      'shows it in a frame',
      'GET',
      `new Promise(done => { const f = document.createElement('iframe'); f.onload = () => done('shown'); f.src = 'URL'; document.body.append(f) })`,
    ],
    [
      'posts a form into a frame',
      'POST',
      `new Promise(done => { const f = document.createElement('iframe'); f.name = 'f' + Math.random(); const m = document.createElement('form'); m.method = 'post'; m.action = 'URL'; m.target = f.name; document.body.append(f, m); f.onload = () => done('sent'); m.submit() })`,
    ],
  ]
  test.each(toSibling)(
    '%s: nothing reaches its sibling, though the session went with it',
    async (_, method, script) => {
      let result: unknown
      const sent = await siblings.sentTo(siblingHost('good'), async () => {
        result = await siblings.run(script.replace('URL', siblingUrl('good', 'secret')))
      })
      const [head] = sent.filter(each => each.method === method)
      expect(head?.text).toContain(`${appCookie}=`)
      expect(siblings.good.seen).toEqual([])
      expect(['read', 'loaded', 'open']).not.toContain(result)
    },
  )

  test('posts a form at the top: nothing reaches its sibling', async () => {
    const other = await siblings.context.newPage()
    await other.goto(siblingUrl('evil'))
    const sent = await siblings.sentTo(siblingHost('good'), async () => {
      const submit = `const m = document.createElement('form'); m.method = 'post'; m.action = '${siblingUrl('good', 'x')}'; document.body.append(m); m.submit()`
      await Promise.all([other.waitForURL(siblingUrl('good', 'x')), other.evaluate(submit)])
    })
    expect(sent.map(({ method, text }) => [method, text.includes(appCookie)])).toEqual([['POST', true]])
    expect(await other.textContent('body')).toContain('a page of another origin asks for it')
    expect(siblings.good.seen).toEqual([])
    await other.close()
  })

  const toPlatform: readonly (readonly [string, string])[] = [
    ['/console/logout', 'token=x'],
    ['/console/start/good', 'token=x'],
    ['/console/login', 'token=ada-token'],
  ]
  test.each(toPlatform)(
    'posts to %s of the platform: nobody is logged out, or in, and nothing is started',
    async (path, body) => {
      const login = await siblings.cookie(loginCookie, origin)
      const sent = await siblings.sentTo(host, async () => {
        const type = `headers: { 'Content-Type': 'application/x-www-form-urlencoded' }`
        await siblings.run(
          `fetch('${origin}${path}', { method: 'POST', body: '${body}', credentials: 'include', mode: 'no-cors', ${type} })`,
        )
        const other = await siblings.context.newPage()
        await other.goto(siblingUrl('evil'))
        const submit = `const m = document.createElement('form'); m.method = 'post'; m.action = '${origin}${path}'; m.innerHTML = '<input name=token value=${body.slice(6)}>'; document.body.append(m); m.submit()`
        await Promise.all([other.waitForURL(`${origin}${path}`), other.evaluate(submit)])
        expect(await other.textContent('body')).toContain('the form is of another page')
        await other.close()
      })
      expect(sent.filter(({ method, text }) => method === 'POST' && text.includes(loginCookie))).toHaveLength(2)
      expect(await siblings.cookie(loginCookie, origin)).toEqual(login)
      expect(await siblings.site.admin.hlen(siblings.site.keys.apps.intents)).toBe(0)
      const own = await siblings.context.newPage()
      await own.goto(`${origin}/console/login`)
      expect(await own.textContent('body')).toContain('You are grace')
      await own.close()
    },
  )

  test('takes no session from its sibling by filling the browser with cookies', async () => {
    const { context: crowded, page: hostile } = await siblings.visit()
    const set = (name: string, count: number, domain: string) =>
      hostile.evaluate(
        `for (let i = 0; i < ${count}; i++) document.cookie = ${name} + '=' + i + '; Path=/; Secure; Domain=${domain}'`,
      )
    await set(`'${appCookie}'`, 200, siblingDomain)
    await set(`'n' + i`, 300, siblingDomain)
    expect(await hostile.evaluate('document.cookie')).toContain('n299=')
    const all = await crowded.cookies()
    // The browser keeps some of them, and has thrown others away.
    const kept = all.filter(({ name }) => /^n[0-9]+$/.test(name)).length
    expect([kept > 100, kept < 300]).toEqual([true, true])
    expect(all.filter(({ name, domain }) => name === appCookie && domain.startsWith('.'))).toEqual([])
    siblings.good.seen.length = 0
    const other = await crowded.newPage()
    await other.goto(siblingUrl('good'))
    // Somebody whose session and login were thrown away logs in again. Nobody else is in his place.
    if ((await other.title()) === 'Log in') {
      await other.fill('input[name=token]', 'grace-token')
      await Promise.all([other.waitForURL(siblingUrl('good')), other.click('button')])
    }
    expect(siblings.good.seen.map(({ headers }) => headers['x-forwarded-user'])).toContain('grace')
    expect(siblings.good.seen.every(({ headers }) => headers['x-forwarded-user'] === 'grace')).toBe(true)
    await crowded.close()
  })
})
