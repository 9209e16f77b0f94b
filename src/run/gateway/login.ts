/** Makes the way to log in that `gateway.login` names, and what asks its source again. */
import { hkdfSync } from 'node:crypto'
import type { Reason } from '../../base/reasons.ts'
import type { AccessParts } from '../../gateway/access/parts.ts'
import { Tries } from '../../gateway/access/tries.ts'
import { BegunLogins } from '../../gateway/login/begun.ts'
import { triesOfLogins } from '../../gateway/login/enter.ts'
import { GafaelfawrPages, GafaelfawrWords } from '../../gateway/login/gafaelfawr-pages.ts'
import { Keeper } from '../../gateway/login/keeper.ts'
import { OidcPages } from '../../gateway/login/oidc-pages.ts'
import { OidcWords } from '../../gateway/login/oidc-words.ts'
import { OpenIdClient } from '../../gateway/login/openid.ts'
import { Rechecks } from '../../gateway/login/rechecks.ts'
import { StaticPages } from '../../gateway/login/static-pages.ts'
import type { WordSource } from '../../gateway/login/word-source.ts'
import { hostsOf } from '../../gateway/policy/hosts.ts'
import { siteOf } from '../../gateway/policy/site.ts'
import type { LoginPages } from '../../gateway/server/login-pages.ts'
import { Ingress } from '../../identity/ingress.ts'
import type { SourceOptions } from '../../identity/source.ts'
import { UserInfoClient } from '../../identity/user-info.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { RecheckStore } from '../../store/apps/rechecks.ts'
import { Sealer } from '../../store/sealing.ts'
import type { GatewayMetrics } from '../../telemetry/gateway-metrics.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import type { Basics } from '../basics.ts'

export interface LoginSource {
  /** Absent: the source is never asked again. */
  readonly words?: Rechecks | undefined
  pages(access: AccessParts): LoginPages
  /** Asks the source, so that a mistake shows before somebody logs in. @throws {ApiError} 503 */
  probe(): Promise<void>
  /** Why the source cannot be used; undefined if it can be, or was not asked yet. */
  trouble(): Reason | undefined
}

export interface LoginSourceParts {
  readonly logins: LoginStore
  readonly rechecks: RecheckStore
  readonly metrics: GatewayMetrics
  readonly onRequest: SourceOptions['onRequest']
}

export function createLoginSource(basics: Basics, parts: LoginSourceParts): LoginSource {
  const { login } = basics.config.gateway
  if (login === 'oidc') return oidcSource(basics, parts)
  if (login === 'gafaelfawr') return gafaelfawrSource(basics, parts)
  const { config, clock } = basics
  const { platform: site, areSplit, ofApp } = hostsOf(config.gateway)
  const alsoTo = areSplit ? ofApp('*').origin : undefined
  return {
    pages: ({ login, access }) => new StaticPages({ site, clock, login, access, lifeMs: lifeMsOf(basics), alsoTo }),
    probe: async () => {},
    trouble: () => undefined,
  }
}

const lifeMsOf = ({ config }: Basics) => config.gateway.loginHours * 3_600_000

function oidcSource(basics: Basics, parts: LoginSourceParts): LoginSource {
  const { config, settings, clock, log } = basics
  const { oidc: client, publicUrl, recheckSeconds } = config.gateway
  // The check of the configuration ensures that both blocks exist.
  const issuer = config.identity.oidc!
  const { origin } = siteOf(publicUrl!)
  const openid = new OpenIdClient({
    ...{ clock, log, issuer, client: client!, onRequest: parts.onRequest, secret: settings.gatewayLogin.clientSecret },
    ...{ callback: `${origin}/console/callback`, goodbye: `${origin}/console/logout` },
  })
  const begun = new BegunLogins(new Sealer(settings.gatewayKeys.map(forCookies)), () => clock.wallMs())
  const lacking = new Rarely({
    ...{ clock, log, trouble: 'the issuer gives no refresh token, so nobody can log in', over: 'it gives them' },
  })
  return {
    ...rechecked(basics, parts, new OidcWords(openid, issuer), issuer.timeoutSeconds),
    pages: ({ access }) =>
      new OidcPages({
        ...{ ...enterParts(basics, parts, access), issuer, client: openid, begun, used: parts.rechecks },
        rechecks: recheckSeconds > 0,
        onLacking: () => lacking.failed('ask for it by gateway.oidc.scopes and parameters, or set recheckSeconds: 0'),
      }),
    probe: () => openid.probe(),
    trouble: () => openid.trouble(),
  }
}

function gafaelfawrSource(basics: Basics, parts: LoginSourceParts): LoginSource {
  const { config, settings, clock, log } = basics
  const gafaelfawr = config.identity.gafaelfawr!
  // Each login is asked about rarely, and then by what holds now.
  const users = new UserInfoClient({ ...gafaelfawr, cacheSeconds: 0 }, { clock, log, onRequest: parts.onRequest })
  const none = { user: [], admin: [], lab: [] }
  const secrets = { ...none, user: settings.gatewayLogin.ingressSecrets }
  const ingress = new Ingress({ secrets, names: none })
  return {
    ...rechecked(basics, parts, new GafaelfawrWords(users), gafaelfawr.timeoutSeconds),
    pages: ({ access }) => new GafaelfawrPages({ ...enterParts(basics, parts, access), ingress, users }),
    probe: () => users.probe(),
    trouble: () => users.trouble(),
  }
}

function enterParts(basics: Basics, { logins, metrics }: LoginSourceParts, access: AccessParts['access']) {
  const keeper = new Keeper(new Sealer(basics.settings.gatewayKeys))
  const onLogin = (result: string) => metrics.logins.inc({ result })
  const tries = new Tries(basics.clock, triesOfLogins)
  return { logins, access, tries, keeper, lifeMs: lifeMsOf(basics), onLogin }
}

function rechecked(
  basics: Basics,
  { logins, rechecks: store, metrics }: LoginSourceParts,
  source: WordSource,
  timeoutSeconds: number,
): Pick<LoginSource, 'words'> {
  const { config, settings, clock, log } = basics
  const { recheckSeconds } = config.gateway
  if (recheckSeconds === 0) return {}
  const keeper = new Keeper(new Sealer(settings.gatewayKeys))
  const onWord = (result: string) => metrics.rechecks.inc({ result })
  const times = { everyMs: recheckSeconds * 1000, answerMs: timeoutSeconds * 1000, maxInFlight: recheckPlaces }
  return { words: new Rechecks({ store, logins, keeper, source, clock, log, onWord, ...times }) }
}

/** Questions of this gateway at once. */
const recheckPlaces = 16

/** A stranger has as many cookies sealed as he likes, so tokens have another key. */
const forCookies = (key: Buffer) => Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'skylab gateway begun v1', 32))
