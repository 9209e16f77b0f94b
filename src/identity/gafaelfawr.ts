/**
 * Identities from Gafaelfawr: its ingress names the user, its API knows their data (SQR-066, "Lab controller REST
 * API").
 */

import type { Identity } from '../base/domain.ts'
import type { GafaelfawrConfig } from '../config/identity.ts'
import { Ingress, type IngressSecrets, tokenOf, userOf } from './ingress.ts'
import { requireNoPage } from './pages.ts'
import { type IdentityProvider, notKnown } from './provider.ts'
import { UserInfoClient, type UserInfoParts } from './user-info.ts'

/**
 * The provider `gafaelfawr`. The ingress has checked the token and the scope of the route, and sends the user's name.
 * On routes of users it also sends a token delegated to the lab, which confirms the name. Routes of administrators have
 * no token. There only the certificate of the ingress, or the secret that controller and ingress share, vouches for the
 * name. Each of the two ingresses has its own, so a request through the users' ingress is never an administrator's,
 * whichever route it reaches.
 *
 * A notebook token has all scopes of the session that delegated it.
 */
export function createGafaelfawrIdentity(
  config: GafaelfawrConfig,
  secrets: IngressSecrets,
  parts: UserInfoParts,
): IdentityProvider {
  const { userCertificateNames: user, adminCertificateNames: admin, labCertificateNames: lab } = config
  const names = { user, admin, lab }
  const ingress = new Ingress(config.trustWithoutSecret ? 'anyone' : { secrets, names })
  const users = new UserInfoClient(config, parts)

  return {
    probe: () => users.probe(),
    trouble: () => users.trouble(),
    async identify(headers, scope, certificateOf): Promise<Identity> {
      ingress.requireIngress(headers, scope, certificateOf)
      const username = userOf(headers)
      const scopes = [scope]
      if (scope === 'admin:jupyterlab') return { username, token: '', scopes, groups: [] }
      const token = tokenOf(headers)
      const info = await users.infoOf(token, username)
      if (info.username !== username) {
        throw notKnown('the token is not that of the user whom the ingress names', 'x-auth-request-token')
      }
      return { ...info, token, scopes }
    },
    requireLab: (headers, certificateOf) => ingress.requireIngress(headers, 'lab', certificateOf),
    requireIntent: headers => requireNoPage(headers, config.pageOrigins),
    scopesOf: ({ token, username }) => users.scopesOf(token, username),
  }
}
