/** A hostile app and its neighbour in a real browser (G3): what one origin keeps apart, and what no header can. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Front, PageApp } from '../../kit/gateway/front.ts'
import { GatewaySite, host, origin } from '../../kit/gateway/site.ts'

let site: GatewaySite
let front: Front
let context: BrowserContext
const apps: PageApp[] = []
/** Heads that reached the neighbour, or the hostile app. */
const seen: { readonly app: string; readonly incoming: IncomingMessage }[] = []

const hostileHeaders: readonly (readonly [string, string])[] = [
  ['Set-Cookie', 'phapplication-session-id=planted; Path=/console/apps/good'],
  ['Set-Cookie', '__Host-Http-skylab-login=planted; Secure; Path=/'],
  ['Set-Cookie', `wide=1; Path=/; Domain=${host}`],
  ['Set-Cookie', 'near=1; Path=/console/apps/good'],
  ['Service-Worker-Allowed', '/'],
  ['X-Accel-Redirect', '/secrets'],
  ['Clear-Site-Data', '"cookies", "storage"'],
  ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'],
]

/** The page of the hostile app sets the rest from its script. */
const hostilePage = `<!doctype html><title>evil</title><script>
document.cookie = '__Host-Http-skylab-login=scripted; Secure; Path=/'
document.cookie = 'phapplication-session-id=scripted; Path=/console/apps/good'
</script>`

async function serve(id: string, answer: (outgoing: ServerResponse, incoming: IncomingMessage) => void) {
  const app = await PageApp.start((incoming, outgoing) => {
    seen.push({ app: id, incoming })
    answer(outgoing, incoming)
  })
  apps.push(app)
  await site.route(id, { address: app.address })
}

beforeAll(async () => {
  site = await GatewaySite.start()
  await serve('good', outgoing => outgoing.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>good'))
  await serve('evil', (outgoing, { url }) => {
    const type = url?.endsWith('.js') ? 'text/javascript' : 'text/html'
    const list = [...hostileHeaders, ['Content-Type', type] as const].flat()
    outgoing.writeHead(200, list).end(url?.endsWith('.js') ? 'self.onfetch = () => {}' : hostilePage)
  })
  front = await Front.start(site, [host])
  context = await front.browser.newContext()
})
afterAll(async () => {
  await front?.stop()
  for (const app of apps) app.stop()
  await site?.stop()
})

test('a hostile app takes no cookie of the platform, plants none at its neighbour, and watches nothing of it', async () => {
  const page = await context.newPage()
  await page.goto(`${origin}/console/apps/good/`)
  await page.fill('input[name=token]', 'ada-token')
  await Promise.all([page.waitForURL('**/console/apps/good/'), page.click('button')])
  const before = await context.cookies(`${origin}/console/apps/good/`)
  const named = (name: string, all = before) => all.filter(cookie => cookie.name === name)
  const [login] = named('__Host-Http-skylab-login')
  const [session] = named('phapplication-session-id')
  expect([login, session]).toMatchObject([
    { httpOnly: true, secure: true, path: '/' },
    { httpOnly: true, secure: true, path: '/console/apps/good' },
  ])

  await page.goto(`${origin}/console/apps/evil/`)
  expect(await page.evaluate('document.cookie')).not.toMatch(/phapplication|skylab-login/)
  const register = (scope: string) =>
    page.evaluate(
      `navigator.serviceWorker.register('/console/apps/evil/worker.js', { scope: '${scope}' }).then(() => 'registered', e => e.name)`,
    )
  expect(await register('/console/apps/good/')).toBe('SecurityError')
  expect(await register('/')).toBe('SecurityError')
  expect(await register('/console/apps/evil/')).toBe('registered')

  const cookies = await context.cookies(`${origin}/console/apps/good/`)
  expect(named('__Host-Http-skylab-login', cookies)).toEqual([login])
  expect(named('phapplication-session-id', cookies)).toEqual([session])
  expect(cookies.map(({ name }) => name).sort()).toEqual(['__Host-Http-skylab-login', 'phapplication-session-id'])
  const own = await context.cookies(`${origin}/console/apps/evil/`)
  expect(own.filter(({ name }) => name === 'wide' || name === 'near')).toMatchObject([
    { domain: host, path: '/console/apps/evil' },
    { domain: host, path: '/console/apps/evil' },
  ])

  seen.length = 0
  await page.goto(`${origin}/console/apps/good/`)
  expect(await page.textContent('body')).toBe('good')
  for (const { app, incoming } of seen) expect([app, incoming.headers.cookie]).toEqual(['good', undefined])
  expect(seen.length).toBeGreaterThan(0)

  // Nor does it log in somebody who is not: as another person, who would read what is typed then.
  await page.goto(`${origin}/console/apps/evil/`)
  await context.clearCookies({ name: '__Host-Http-skylab-login' })
  await page.evaluate(`document.cookie = '__Host-Http-skylab-login=scripted; Secure; Path=/'`)
  await page.evaluate(`document.cookie = '__Host-other=scripted; Secure; Path=/'`)
  // The browser sets cookies after the script has gone on, and reads them after all that it was to set.
  expect(await page.evaluate('document.cookie')).toContain('__Host-other')
  const scripted = (await context.cookies(origin)).map(({ name }) => name)
  expect(scripted).toContain('__Host-other')
  expect(scripted).not.toContain('__Host-Http-skylab-login')
})
