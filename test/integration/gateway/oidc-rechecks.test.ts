/** Membership at a real OpenID provider whose refresh tokens rotate, asked again by two gateways as processes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TestBrowser } from '../../kit/gateway/browser.ts'
import { type OidcSite, startOidcSite } from '../../kit/gateway/oidc-site.ts'
import { echo } from '../../kit/gateway/raw-app.ts'
import { statusOf } from '../../kit/gateway/site.ts'

/** In place of a minute. */
const recheckSeconds = 1
/** And the sweep that looks at what is open. */
const limitMs = recheckSeconds * 1000 + 5_000

let at: OidcSite
beforeAll(async () => {
  at = await startOidcSite({ recheckSeconds })
})
afterAll(() => at?.stop())

async function loggedIn(user: string, groups: readonly string[]): Promise<TestBrowser> {
  at.issuer.people.set(user, { groups })
  at.issuer.person = user
  const browser = new TestBrowser(at.site)
  await browser.logIn()
  return browser
}

const cutAfter = (id: string, browser: TestBrowser, change: () => void): Promise<number> =>
  at.site.cutAfter(id, browser.cookie, change)

test('a group that the issuer takes away cuts what is open, and lets nobody in by it', async () => {
  await at.site.app('group', echo, { group: 'physics' })
  const ada = await loggedIn('ada', ['physics'])
  const ms = await cutAfter('group', ada, () => at.issuer.people.set('ada', { groups: [] }))
  expect(ms).toBeLessThan(limitMs)
  const answers = await Promise.all([0, 1].map(gateway => ada.get('/console/apps/group/', gateway)))
  expect(answers.map(statusOf)).toEqual([403, 403])
})

test('an account that is closed cuts what is open, and ends the login', async () => {
  await at.site.app('closed', echo, { audience: { kind: 'loggedIn' } })
  const eve = await loggedIn('eve', [])
  const ms = await cutAfter('closed', eve, () => at.issuer.people.delete('eve'))
  expect(ms).toBeLessThan(limitMs)
  const answers = await Promise.all([0, 1].map(gateway => eve.get('/console/apps/closed/', gateway)))
  expect(answers.map(statusOf)).toEqual([303, 303])
})

test('refresh tokens rotate under two gateways, and none is lost or used twice', async () => {
  await at.site.app('rotates', echo)
  const grace = await loggedIn('grace', ['physics'])
  const [before, errors, revoked] = [at.issuer.grants.length, at.issuer.errors.length, at.issuer.revoked]
  const refreshed = () => at.issuer.grants.slice(before).filter(grant => grant === 'refresh_token').length
  const statuses = new Set<number>()
  while (refreshed() < 4) {
    const both = await Promise.all([0, 1, 0, 1].map(gateway => grace.get('/console/apps/rotates/', gateway)))
    for (const answer of both) statuses.add(statusOf(answer))
  }
  expect([...statuses]).toEqual([200])
  expect([at.issuer.errors.length, at.issuer.revoked]).toEqual([errors, revoked])
})
