/**
 * A hostile app beside another group's, in a real browser: frames, workers, windows and histories. Each blow is seen to have been
 * struck: at the browser, or before the gateway.
 */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Front } from '../../kit/gateway/front.ts'
import { Siblings, siblingHost, siblingUrl } from '../../kit/gateway/siblings.ts'
import { GatewaySite, host, origin } from '../../kit/gateway/site.ts'
import { appCookie } from '../../kit/gateway/split-site.ts'

const loginCookie = '__Host-Http-skylab-login'

let siblings: Siblings
beforeAll(async () => {
  siblings = await Siblings.start()
})
afterAll(() => siblings?.stop())

describe('a hostile app at a host of its own', () => {
  test.each([
    '/console/login',
    '/console/logout',
    '/console/start/good',
    `/console/enter/good?nonce=${'a'.repeat(64)}`,
  ])('frames %s of the platform: the browser shows nothing of it', async path => {
    await siblings.site.route('good', { address: siblings.good.address, phase: 'Stopped' })
    const sent = await siblings.sentTo(host, () =>
      siblings.run(
        `new Promise(done => { const f = document.createElement('iframe'); f.onload = done; f.src = '${origin}${path}'; document.body.append(f) })`,
      ),
    )
    expect(sent.map(({ target, text }) => [target, text.includes(loginCookie)])).toEqual([[path, true]])
    const frames = siblings.page.frames().filter(each => each.url().startsWith(origin))
    const texts = await Promise.all(frames.map(each => each.textContent('body')))
    expect(texts.join()).not.toMatch(/grace|token/)
    await siblings.site.route('good', { address: siblings.good.address })
    await siblings.page.goto(siblingUrl('evil'))
  })

  test('has a service worker for its own path alone, which sees nothing of a login', async () => {
    const register = (script: string, scope: string) =>
      siblings.run(
        `navigator.serviceWorker.register('${script}', { scope: '${scope}' }).then(() => 'registered', e => e.name)`,
      )
    expect(await register('/console/apps/evil/worker.js', '/')).toBe('SecurityError')
    expect(await register('/console/apps/evil/worker.js', '/console/')).toBe('SecurityError')
    // There is no script of the platform at its host.
    expect(await register('/console/enter', '/console/')).toBe('TypeError')
    expect(await register('/console/apps/evil/worker.js', '/console/apps/evil/')).toBe('registered')
    await siblings.run(
      `window.heard = []; navigator.serviceWorker.addEventListener('message', e => heard.push(e.data)); navigator.serviceWorker.startMessages(); navigator.serviceWorker.ready.then(() => {})`,
    )
    await siblings.page.waitForFunction('navigator.serviceWorker.controller !== null')
    // Another tab logs in anew, and comes by a code.
    await siblings.context.clearCookies({ name: appCookie })
    const other = await siblings.context.newPage()
    const sent = await siblings.sentTo(siblingHost('evil'), () => other.goto(siblingUrl('evil', 'other')))
    expect(await other.title()).toBe('evil')
    expect(sent.map(({ target }) => target.replace(/\?.*/, ''))).toEqual([
      ...['/console/apps/evil/other', '/console/enter', '/console/apps/evil/other'],
    ])
    await siblings.page.waitForFunction('heard.length > 0')
    expect(await siblings.run('heard')).toContain(siblingUrl('evil', 'other'))
    expect(await siblings.run<string[]>('heard')).not.toContainEqual(expect.stringMatching(/enter|code=/))
    await other.close()
    await siblings.run(
      'navigator.serviceWorker.getRegistrations().then(all => Promise.all(all.map(each => each.unregister())))',
    )
    await siblings.page.goto(siblingUrl('evil'))
  })

  test('opens its sibling, and reads nothing of that window', async () => {
    const [popup] = await Promise.all([
      siblings.context.waitForEvent('page'),
      siblings.run(`window.w = window.open('${siblingUrl('good')}'); 1`),
    ])
    await popup.waitForURL(siblingUrl('good'))
    const tried = (what: string) =>
      siblings.run(`(() => { try { return String(${what}) } catch (e) { return e.name } })()`)
    for (const what of ['w.document.title', 'w.location.href', 'w.localStorage.length']) {
      expect(await tried(what)).toBe('SecurityError')
    }
    await popup.close()
    // It could read a window of its own.
    const [own] = await Promise.all([
      siblings.context.waitForEvent('page'),
      siblings.run(`window.w = window.open('${siblingUrl('evil')}'); 1`),
    ])
    await own.waitForURL(siblingUrl('evil'))
    expect(await tried('w.document.title')).toBe('evil')
    await own.close()
  })

  // Whoever begins the way himself has a code that is still good, when the way of a visitor ends before the code is used.
  test.each<[string, string, RegExp]>([
    ['another nonce', '', /enter\?ended=foreign$/],
    [
      'more cookies than a head may have',
      `for (let i = 0; i < 6; i++) document.cookie = 'b' + i + '=' + 'x'.repeat(3000) + '; Path=/console/enter; Secure'`,
      /enter\?code=/,
    ],
  ])('learns no code by its service worker, where the way ends by %s', async (_, prepare, end) => {
    onTestFinished(async () => {
      await siblings.context.clearCookies({ name: /^b\d+$/ })
      await siblings.run(
        'navigator.serviceWorker.getRegistrations().then(all => Promise.all(all.map(each => each.unregister())))',
      )
      await siblings.page.goto(siblingUrl('evil'))
    })
    // To read cookies waits until all are set.
    await siblings.run(`${prepare}; document.cookie`)
    await siblings.run(
      `navigator.serviceWorker.register('/console/apps/evil/worker.js', { scope: '/console/apps/evil/' })`,
    )
    await siblings.run(`(async () => {
      const { active } = await navigator.serviceWorker.ready
      const ask = () => new Promise(done => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = event => done(event.data)
        active.postMessage('', [port2])
      })
      window.listed = new Set()
      window.asks = 0
      window.look = async () => { (await ask()).forEach(url => listed.add(url)); asks += 1 }
      const again = () => look().then(() => window.asking && setTimeout(again))
      window.asking = true
      await look()
      again()
    })()`)
    const tab = await siblings.context.newPage()
    await tab.goto(siblingUrl('evil', 'other'))
    await tab.evaluate(`location.href = '${origin}/console/enter/evil?nonce=${'a'.repeat(64)}'; 1`)
    await tab.waitForURL(end)
    await tab.waitForLoadState()
    await siblings.run('look()')
    const listed = await siblings.run<string[]>('window.asking = false; [...listed]')
    expect(listed).toContain(siblingUrl('evil', 'other'))
    expect(listed.join()).not.toContain('code=')
    await tab.close()
  })

  // A code of a head that nobody can read stays in the address of its answer. So no opener may see that, nor any history.
  test.each<[string, string, readonly string[]]>([
    ['another nonce', '', ['code=', 'ended=foreign']],
    [
      'more cookies than a head may have',
      `for (let i = 0; i < 6; i++) document.cookie = 'b' + i + '=' + 'x'.repeat(3000) + '; Path=/console/enter; Secure'`,
      ['code='],
    ],
  ])('reads no code out of a window or a history, where the way ends by %s', async (_, prepare, ends) => {
    // To read cookies waits until all are set.
    await siblings.run(`${prepare}; document.cookie`)
    const way = `${origin}/console/enter/evil?nonce=${'a'.repeat(64)}`
    let popup: Page | undefined
    const sent = await siblings.sentTo(siblingHost('evil'), async () => {
      const opened = siblings.context.waitForEvent('page')
      await siblings.run(`window.w = window.open('${way}'); 1`)
      popup = await opened
      await popup.waitForURL(url => url.search.includes(ends.at(-1)!))
      await popup.waitForLoadState()
    })
    expect(sent.map(({ target }) => target)).toEqual(ends.map(end => expect.stringContaining(`/console/enter?${end}`)))
    // To its opener the window is gone.
    await siblings.page.waitForFunction('w.closed')
    const read = `(() => { try { return w.location.href } catch (e) { return e.name } })()`
    expect(await siblings.run(read)).not.toContain('code=')
    await popup!.close()

    // In the same tab, and back.
    const tab = await siblings.context.newPage()
    await tab.goto(siblingUrl('evil'))
    await tab.evaluate(`location.href = '${way}'; 1`)
    await tab.waitForURL(url => url.search.includes(ends.at(-1)!))
    await tab.goBack()
    await tab.waitForURL(siblingUrl('evil'))
    const entries = (await tab.evaluate('navigation.entries().map(each => String(each.url))')) as string[]
    expect(entries).toContain(siblingUrl('evil'))
    expect(entries.join()).not.toContain('code=')
    expect(await tab.evaluate('document.referrer')).not.toContain('code=')
    await tab.close()
    await siblings.context.clearCookies({ name: /^b\d+$/ })
  })
})

test('a login leads to apps whose domain is no relative of the platform’s, and back', async () => {
  const far = await GatewaySite.start({ config: { gateway: { appDomain: 'apps.example.net' } } })
  const farFront = await Front.start(far, [host, '*.apps.example.net'])
  onTestFinished(async () => {
    await farFront.stop()
    await far.stop()
  })
  await far.route('good', { address: siblings.good.address })
  const tab = await (await farFront.browser.newContext()).newPage()
  await tab.goto('https://good.apps.example.net/console/apps/good/a?b=c')
  expect(new URL(tab.url()).origin).toBe(origin)
  await tab.fill('input[name=token]', 'grace-token')
  const address = 'https://good.apps.example.net/console/apps/good/a?b=c'
  await Promise.all([tab.waitForURL(address), tab.click('button')])
  expect([await tab.title(), await tab.evaluate('document.referrer')]).toEqual(['good', ''])
  // The login is known from now on: the next app needs no form.
  await far.route('second', { address: siblings.good.address })
  await tab.goto('https://second.apps.example.net/console/apps/second/')
  expect(await tab.title()).toBe('good')
})
