/** Apps at hosts of their own: what stands beside a session, and what ends one. Two gateways on one Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf } from '../../../src/store/apps/ids.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { clientFrame, GatewaySite, host, statusOf, upgrade } from '../../kit/gateway/site.ts'
import { appCookie, appDomain, hostOf, originOf, SplitBrowser } from '../../kit/gateway/split-site.ts'

let site: GatewaySite
beforeAll(async () => {
  site = await GatewaySite.start({ gateways: 2, config: { gateway: { appDomain } } })
})
afterAll(() => site?.stop())

test('a session is one of a browser: it stays for the same login, and ends when another one takes its place', async () => {
  await site.app('single', echo)
  const browser = await SplitBrowser.in(site, 'single', 'ada')
  const cookieOf = () => browser.cookies.get(hostOf('single'))!.get(appCookie)!
  const keys = async () => Promise.all(seen.map(each => site.admin.exists(site.keys.apps.session(hashOf(each)!))))
  const first = cookieOf()
  const seen = [first.split('.')[0]!]
  // As of a tab that began before the session was there.
  browser.cookies.get(hostOf('single'))!.delete(appCookie)
  const late = await browser.code('single')
  browser.cookies.get(hostOf('single'))!.set(appCookie, first)
  expect(statusOf(await browser.get(late))).toBe(303)
  expect([cookieOf(), await keys()]).toEqual([first, [1]])
  expect([...browser.cookies.get(hostOf('single'))!.keys()]).toEqual([appCookie])

  browser.cookies.delete(host)
  await browser.logIn('grace')
  browser.cookies.get(hostOf('single'))!.delete(appCookie)
  const other = await browser.code('single')
  browser.cookies.get(hostOf('single'))!.set(appCookie, first)
  expect(statusOf(await browser.get(other))).toBe(303)
  seen.push(cookieOf().split('.')[0]!)
  expect(await keys()).toEqual([0, 1])
})

test('a token of the platform is judged by itself, and none that the platform does not know', async () => {
  const app = await site.app('token', echo)
  const cookies = (await SplitBrowser.in(site, 'token', 'grace')).cookiesTo(hostOf('token'))
  const post = (lines: readonly string[]) =>
    site.ask('POST /console/apps/token/x', [`Origin: ${originOf('other')}`, ...lines], {
      body: 'a',
      at: hostOf('token'),
    })
  const before = app.lines.length
  // A page of a sibling cannot send a token without the word of this host, which only the app could give.
  expect(statusOf(await post(['Authorization: Bearer of-the-app', ...cookies]))).toBe(403)
  expect(statusOf(await post(['Authorization: Basic YTpi', ...cookies]))).toBe(403)
  expect(statusOf(await post(['Authorization: Bearer of-the-app']))).toBe(401)
  expect(app.lines).toHaveLength(before)
  expect(statusOf(await post(['Authorization: Bearer ada-token', ...cookies]))).toBe(200)
  expect(app.lines).toHaveLength(before + 1)
  expect(app.text.slice(app.text.lastIndexOf('POST '))).toContain('X-Forwarded-User: ada')
})

test('a session is cut with its app, at each replica', async () => {
  await site.app('revoked', echo)
  await site.app('stays', echo)
  const open = async (id: string, gateway: number) => {
    const client = await site.client(gateway)
    const cookies = (await SplitBrowser.in(site, id, 'ada')).cookiesTo(hostOf(id))
    client.write(
      upgrade(`/console/apps/${id}/ws`, cookies, originOf(id)).replace(`Host: ${host}`, `Host: ${hostOf(id)}`),
    )
    await client.has('\r\n\r\n')
    client.write(clientFrame('before'))
    await client.has('before')
    return client
  }
  const cut = await Promise.all([0, 1].map(gateway => open('revoked', gateway)))
  const other = await open('stays', 0)
  const began = performance.now()
  await site.revocations.revoke({ appId: 'revoked' })
  await Promise.all(cut.map(client => client.over()))
  expect(performance.now() - began).toBeLessThan(5_000)
  other.write(clientFrame('after'))
  await other.has('after')
})
