/** Service workers that apps registered at the host of the platform, in a real browser, once each app has a host of its own. */
import { expect, onTestFinished, test } from 'vitest'
import { Front, PageApp } from '../../kit/gateway/front.ts'
import { GatewaySite, host, origin, statusOf } from '../../kit/gateway/site.ts'
import { appDomain, hostOf, ledTo } from '../../kit/gateway/split-site.ts'

/** Shows its own page at each address below its path, and asks nobody. */
const worker = `self.oninstall = () => self.skipWaiting()
self.onactivate = event => event.waitUntil(self.clients.claim())
self.onfetch = event => event.respondWith(
  new Response('<!doctype html><title>kept</title>', { headers: { 'Content-Type': 'text/html' } }))`

test('a worker of an app at the host of the platform ends when a tab is opened, and its tabs are led on', async () => {
  const site = await GatewaySite.start({ config: { gateway: { appDomain } } })
  const before = await PageApp.start(({ url = '' }, outgoing) => {
    const isScript = url.endsWith('.js')
    outgoing.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' })
    outgoing.end(isScript ? worker : '<!doctype html><title>old</title>')
  })
  const gateways = [before.address]
  const front = await Front.start({ stateDir: site.stateDir, gateways }, [host, `*.${appDomain}`])
  onTestFinished(async () => {
    await front.stop()
    before.stop()
    await site.stop()
  })
  const context = await front.browser.newContext()
  const tab = await context.newPage()
  await tab.goto(`${origin}/console/apps/evil/`)
  await tab.evaluate(`navigator.serviceWorker.register('/console/apps/evil/worker.js')`)
  await tab.waitForFunction('navigator.serviceWorker.controller !== null')

  before.stop()
  gateways[0] = { ip: '127.0.0.1', port: site.gateways[0]!.port }
  front.clear()
  const next = await context.newPage()
  await next.goto(`${origin}/console/apps/evil/x`)
  // The old worker has answered this once more; the browser then asks for its script.
  for (const each of [tab, next]) await each.waitForURL(/\/console\/login\?next=/)
  expect(await next.title()).toBe('Log in')
  const hosts = front.heads.filter(({ target }) => target === '/console/apps/evil/x').map(({ host: at }) => at)
  expect(hosts).toEqual([host, hostOf('evil')])
  await next.goto(`${origin}/console/apps/evil/y`)
  expect(await next.title()).toBe('Log in')
  expect(await next.evaluate('navigator.serviceWorker.getRegistrations().then(all => all.length)')).toBe(0)
})

test('only the script of a worker is answered so, and only where no app is', async () => {
  const site = await GatewaySite.start({ config: { gateway: { appDomain } } })
  onTestFinished(() => site.stop())
  const ask = (at: string, lines: readonly string[]) => site.ask('GET /console/apps/evil/worker.js', lines, { at })
  const script = ['Service-Worker: script', 'Sec-Fetch-Mode: same-origin']
  const ended = await ask(host, script)
  expect([statusOf(ended), ended.includes('unregister()')]).toEqual([200, true])
  expect(ended).toMatch(/^content-type: text\/javascript; charset=utf-8\r$/im)
  expect(ended).toMatch(/^cache-control: no-store\r$/im)
  expect(statusOf(await ask(host, []))).toBe(421)
  expect(ledTo(await ask(host, ['Sec-Fetch-Mode: navigate']))).toBe(
    `https://${hostOf('evil')}/console/apps/evil/worker.js`,
  )
  expect(statusOf(await ask(hostOf('evil'), script))).toBe(401)
  expect(statusOf(await ask(hostOf('other'), script))).toBe(421)
})
