/** G10: somebody has a copy of Redis, the logs and the metrics. Nothing in them is a credential, and nothing in them opens an app. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { Marked, placesInLogs, placesInMetrics, placesInRedis, wordsInRedis } from '../../../kit/attack/marked.ts'
import { TestBrowser } from '../../../kit/gateway/browser.ts'
import { type OidcSite, startOidcSite } from '../../../kit/gateway/oidc-site.ts'
import { echo, type RawApp } from '../../../kit/gateway/raw-app.ts'
import { statusOf } from '../../../kit/gateway/site.ts'
import { gatewaySecret } from '../../../kit/identity/login-issuer.ts'
import { isWhole } from './shared.ts'

const path = '/console/apps/dumped/'
const people = isWhole ? 8 : 2

attack(
  'gateway G10 a copy of Redis opens nothing',
  async trial => {
    const at = await startOidcSite({ recheckSeconds: 1, limits: { requestsPerUser: 1000 } })
    try {
      const app = await at.site.app('dumped', echo, { group: 'physics' })
      const browsers = await use(at)
      const marked = credentialsOf(at, browsers)
      for (const found of marked.foundAt(await kept(at))) trial.violation(found)
      await control(trial, at, browsers[0]!, marked)
      await present(trial, at, app)
    } finally {
      await at.stop()
    }
  },
  { concurrent: true },
)

/** People log in and open the app, until each login was asked about again with a new refresh token. */
async function use({ site, issuer }: OidcSite): Promise<readonly TestBrowser[]> {
  const browsers: TestBrowser[] = []
  for (let i = 0; i < people; i++) {
    issuer.person = `user-${i}`
    issuer.people.set(issuer.person, { groups: ['physics'] })
    const browser = new TestBrowser(site)
    await browser.logIn(path)
    browsers.push(browser)
  }
  const renewed = () => issuer.grants.filter(grant => grant === 'refresh_token').length
  while (renewed() < people) for (const browser of browsers) await browser.get(path)
  // A login that has begun.
  await browsers[0]!.get('/console/login?next=%2Fconsole%2Fapps%2Fdumped%2F')
  const begun = new TestBrowser(site)
  await begun.get('/console/login')
  return [...browsers, begun]
}

/** What opens something, of browsers, the gateway and the provider. */
function credentialsOf({ issuer, key }: OidcSite, browsers: readonly TestBrowser[]): Marked {
  const marked = new Marked()
  for (const [i, browser] of browsers.entries()) {
    for (const [name, value] of browser.cookies) marked.add(`the cookie ${name} of browser ${i}`, value)
  }
  for (const [i, { kind, value }] of issuer.issued.entries()) marked.add(`${kind} ${i}`, value)
  marked.add('the secret of the client', gatewaySecret)
  marked.add('the key of the gateways', key)
  marked.add('the key of the gateways, as bytes', Buffer.from(key, 'base64').toString('latin1'))
  return marked
}

const kept = async ({ site }: OidcSite) => [
  ...(await placesInRedis(site.admin)),
  ...placesInLogs(site.stateDir),
  ...(await placesInMetrics(site.gateways)),
]

/** The search must find a credential, and a browser must be let in by it: else what follows proves nothing. */
async function control(trial: Trial, at: OidcSite, browser: TestBrowser, marked: Marked): Promise<void> {
  const [value] = browser.cookies.values()
  await at.site.admin.hset('planted', 'field', JSON.stringify({ value }))
  trial.injected()
  if (marked.foundAt(await kept(at)).some(found => found.endsWith('Redis, planted'))) trial.landed()
  await at.site.admin.del('planted')
  trial.injected()
  if (statusOf(await browser.get(path)) === 200) trial.landed()
}

/** Each word of Redis, as the cookie of a login, of a session, of both, and as a bearer. Landed: it was judged, and not put off. */
async function present(trial: Trial, { site }: OidcSite, app: RawApp): Promise<void> {
  const all = (await wordsInRedis(site.admin)).flatMap(word => [word, ...asId(word)])
  const words = all.filter(word => /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{8,1024}$/.test(word))
  const headersOf = (word: string): readonly string[] => [
    `Cookie: __Host-Http-skylab-login=${word}`,
    `Cookie: __Host-skylab-login=${word}`,
    `Cookie: phapplication-session-id=${word}`,
    `Cookie: __Host-Http-skylab-login=${word}; phapplication-session-id=${word}`,
    `Authorization: Bearer ${word}`,
  ]
  trial.figure('words', words.length)
  const from = app.text.length
  for (const [i, word] of words.entries()) {
    for (const header of headersOf(word)) {
      trial.injected()
      // Strangers are counted by address.
      const answer = await site.ask(`GET ${path}`, [header, `X-Forwarded-For: 203.0.113.${i % 250}`], {
        gateway: i % 2,
      })
      const status = statusOf(answer)
      if ([401, 403].includes(status)) trial.landed()
      else if (status === 200)
        trial.violation(`a word of Redis opens an app: ${header.replace(word, `${word.slice(0, 6)}…`)}`)
    }
  }
  if (app.text.length !== from) trial.violation('the app got a byte')
}

/** Thirty-two bytes in the form of the ids that cookies have. */
export const asId = (word: string): readonly string[] =>
  /^[0-9a-f]{64}$/.test(word) ? [Buffer.from(word, 'hex').toString('base64url')] : []
