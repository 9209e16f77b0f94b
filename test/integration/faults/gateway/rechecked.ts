/** Membership that ends at the identity provider: nothing rings, so it is asked again. */
import { systemClock } from '../../../../src/base/clock.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { TestBrowser } from '../../../kit/gateway/browser.ts'
import { type OidcSite, startOidcSite } from '../../../kit/gateway/oidc-site.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { clientFrame, statusOf } from '../../../kit/gateway/site.ts'
import { isWhole } from './shared.ts'

/** As it is configured by default, in full size. */
const recheckSeconds = isWhole ? 60 : 2
const sockets = isWhole ? 50 : 10
/** A minute, as promised; and as a gateway looks at what is open each 3.5 s. */
const limitMs = isWhole ? 60_000 : 6_500

const changes = {
  'a group that is taken away': ({ issuer }: OidcSite, user: string) => issuer.people.set(user, { groups: [] }),
  'an account that is closed': ({ issuer }: OidcSite, user: string) => issuer.people.delete(user),
}

attack(
  'gateway G2 a membership that ends at the identity provider cuts what is open',
  async trial => {
    const at = await startOidcSite({ recheckSeconds, limits: { socketsPerUser: 1000, requestsPerUser: 1000 } })
    try {
      await at.site.app('rechecked', echo, { group: 'physics' })
      const blows: Blow[] = []
      // One after another, since the provider asks for nobody's name.
      for (const [index, [name, change]] of Object.entries(changes).entries()) {
        blows.push({ name, change, ...(await logIn(at, `user-${index}`)) })
      }
      await Promise.all(blows.map(blow => strike(trial, at, blow)))
      trial.figure('calls', at.issuer.calls)
    } finally {
      await at.stop()
    }
  },
  { concurrent: true },
)

interface Blow {
  readonly name: string
  readonly user: string
  readonly browser: TestBrowser
  change(at: OidcSite, user: string): unknown
}

async function logIn({ issuer, site }: OidcSite, user: string): Promise<Pick<Blow, 'user' | 'browser'>> {
  issuer.people.set(user, { groups: ['physics'] })
  issuer.person = user
  const browser = new TestBrowser(site)
  await browser.logIn()
  return { user, browser }
}

async function strike(trial: Trial, at: OidcSite, { name, user, browser, change }: Blow): Promise<void> {
  const open = await Promise.all(
    Array.from({ length: sockets }, (_, i) => at.site.socket('rechecked', browser.cookie, i % 2)),
  )
  for (const wire of open) wire.write(clientFrame('before'))
  await Promise.all(open.map(wire => wire.has('before')))
  trial.injected(open.length)
  const beganMs = systemClock.monotonicMs()
  change(at, user)
  const over = Promise.all(open.map(wire => wire.over().then(() => trial.landed())))
  const isInTime = await Promise.race([over.then(() => true), systemClock.sleep(limitMs).then(() => false)])
  trial.took(systemClock.monotonicMs() - beganMs)
  if (!isInTime) trial.violation(`${name}: something was still open after ${limitMs} ms`)
  const answers = await Promise.all([0, 1].map(gateway => browser.get('/console/apps/rechecked/', gateway)))
  if (answers.some(answer => statusOf(answer) === 200)) trial.violation(`${name}: a request was let in`)
}
