/** Checks of the block `gateway`, for a process that runs it. */
import { isLoopback } from '../base/loopback.ts'
import type { OidcConfig } from '../config/identity.ts'
import type { Config } from '../config/schema.ts'
import { appDomainProblems, appDomainWarnings } from './app-domain-checks.ts'

/** A process for something else leaves the block alone. */
export const servesGateway = ({ run }: Pick<Config, 'run'>): boolean => run.includes('gateway')

/** @returns one line for each violated condition */
export function gatewayProblems({ gateway, identity, sealing }: Config): string[] {
  const { publicUrl, keyFiles } = gateway
  return [
    ...(publicUrl === undefined
      ? ['gateway.publicUrl: is required by a process that runs the gateway']
      : [...addressProblems(publicUrl), ...appDomainProblems('gateway', gateway)]),
    ...loginProblems({ gateway, identity }),
    // Whoever can open plans of labs would open what logins keep.
    ...keyFiles.flatMap((file, index) =>
      sealing.keyFiles.includes(file) ? [`gateway.keyFiles.${index}: is also a file of sealing.keyFiles`] : [],
    ),
  ]
}

/** Which tokens or people each way to log in has. */
const sources = {
  static: 'takes the tokens of identity.static',
  oidc: 'takes the issuer and the claims of identity.oidc',
  gafaelfawr: 'takes the address of identity.gafaelfawr',
} as const

function loginProblems({ gateway, identity }: Pick<Config, 'gateway' | 'identity'>): string[] {
  const { login, keyFiles, oidc, gafaelfawr } = gateway
  if (identity.provider !== login) {
    return [`gateway.login: ${login} ${sources[login]}, and identity.provider is ${identity.provider}`]
  }
  const lacks =
    login === 'static' || identity[login] !== undefined
      ? []
      : [`identity.${login}: is required by the provider ${login}`]
  return [
    ...lacks,
    ...(login === 'oidc' && oidc === undefined ? ['gateway.oidc: is required by login: oidc'] : []),
    ...(login === 'oidc' && oidc && identity.oidc && takesIdTokens(oidc.clientId, identity.oidc)
      ? [
          'gateway.oidc.clientId: is also identity.oidc.audience, so ID tokens pass for access tokens: set identity.oidc.tokenType, or authorizedParties without it',
        ]
      : []),
    ...(login === 'gafaelfawr' && (gafaelfawr?.secretFiles ?? []).length === 0
      ? ['gateway.gafaelfawr.secretFiles: no secret shared with the ingress of /console/login']
      : []),
    ...(login !== 'static' && keyFiles.length === 0
      ? [`gateway.keyFiles: no key, by which login: ${login} seals tokens`]
      : []),
  ]
}

/** An ID token is for the client, which it may name as `azp` too, and its type is absent or JWT. */
function takesIdTokens(clientId: string, { audience, tokenType, authorizedParties }: OidcConfig): boolean {
  const isOfAnyType = tokenType === undefined || /^(application\/)?jwt$/i.test(tokenType)
  const isOfAnyParty = authorizedParties.length === 0 || authorizedParties.includes(clientId)
  return clientId === audience && isOfAnyType && isOfAnyParty
}

function addressProblems(publicUrl: string): string[] {
  const url = new URL(publicUrl)
  const key = 'gateway.publicUrl'
  const isBare = url.origin === publicUrl || `${url.origin}/` === publicUrl
  return [
    ...(isBare ? [] : [`${key}: has more than scheme, host and port`]),
    // Browsers keep no cookie of the login there.
    ...(url.protocol === 'https:' || isLoopback(url.host) ? [] : [`${key}: is not https://, and not this machine`]),
  ]
}

/** @returns warnings: permitted settings that an operator should know about */
export function gatewayWarnings({ gateway, api, identity }: Config): string[] {
  const { login, publicUrl, trustedProxies } = gateway
  return [
    ...loginWarnings({ gateway, identity }),
    ...(login === 'static' ? ['gateway.login: static is for demos and tests, never for real users'] : []),
    ...(publicUrl?.startsWith('http:') ? ['gateway.publicUrl: is http://, so everything can be read on its way'] : []),
    ...appDomainWarnings('gateway', gateway),
    // An ingress is before almost every gateway.
    ...(trustedProxies.length === 0 && api.tls === undefined
      ? [
          'gateway.trustedProxies: is empty, so all visitors behind a proxy have its address: in bounds, for apps and in logs',
        ]
      : []),
  ]
}

function loginWarnings({ gateway, identity }: Pick<Config, 'gateway' | 'identity'>): string[] {
  const { login, oidc, gafaelfawr, recheckSeconds } = gateway
  const unused = [
    ...(login !== 'oidc' && oidc ? ['gateway.oidc'] : []),
    ...(login !== 'gafaelfawr' && gafaelfawr ? ['gateway.gafaelfawr'] : []),
  ]
  const { claims, groupScopes } = identity.oidc ?? {}
  const isByScope = claims?.scopes === 'scope' && Object.keys(groupScopes ?? {}).length === 0
  return [
    ...unused.map(key => `${key}: has no effect with login: ${login}`),
    ...(login !== 'static' && recheckSeconds === 0
      ? ['gateway.recheckSeconds: is 0, so somebody who is shut out stays logged in for gateway.loginHours']
      : []),
    ...(login === 'oidc' && oidc && isByScope && !oidc.scopes.includes('exec:notebook')
      ? [
          'gateway.oidc.scopes: lacks exec:notebook, and no claim or group of identity.oidc gives it, so nobody may be able to log in',
        ]
      : []),
  ]
}
