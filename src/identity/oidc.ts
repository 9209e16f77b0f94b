/** Identities from the JSON Web Tokens of an OpenID issuer. */
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { OidcConfig } from '../config/identity.ts'
import { identityFromClaims } from './claims.ts'
import { IssuerKeys, type IssuerParts, unusableKeys } from './issuer.ts'
import { bearerToken, type IdentityProvider, unauthorized } from './provider.ts'

/** The provider `oidc`: checks signature, issuer, audience and times of each request's token, with cached keys. */
export function createOidcIdentity(config: OidcConfig, parts: IssuerParts): IdentityProvider {
  const keys = new IssuerKeys(config, parts)
  const { clock, log } = parts
  const expected: JWTVerifyOptions = {
    issuer: config.issuer,
    audience: config.audience,
    algorithms: config.algorithms,
    clockTolerance: config.clockSkewSeconds,
    requiredClaims: ['exp', 'sub'],
    ...(config.tokenType !== undefined && { typ: config.tokenType }),
  }

  async function verify(token: string): Promise<JWTPayload> {
    try {
      const currentDate = new Date(clock.wallMs())
      const { payload } = await jwtVerify(token, keys.keyOf, { ...expected, currentDate })
      if (isOfParty(payload, config.authorizedParties)) return payload
    } catch (error) {
      if (error instanceof ApiError) throw error
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)) {
        // Nothing else of the error: its message quotes headers, and its cause contains the claims.
        log.debug({ code: error.code, claim: (error as { claim?: unknown }).claim }, 'a token was refused')
        throw unauthorized()
      }
      log.warn({ err: error }, 'a key of the issuer cannot be used')
      throw unusableKeys()
    }
    log.debug('a token was refused: its client is none of identity.oidc.authorizedParties')
    throw unauthorized()
  }

  return {
    probe: () => keys.probe(),
    trouble: () => keys.trouble(),
    async identify(headers): Promise<Identity> {
      const token = bearerToken(headers)
      if (token === undefined) throw unauthorized()
      return { ...identityFromClaims(await verify(token), config), token }
    },
  }
}

/** OpenID names the client in azp, RFC 9068 in client_id. A token that names none is refused. */
function isOfParty({ azp, client_id }: JWTPayload, parties: readonly string[]): boolean {
  if (parties.length === 0) return true
  const named = [azp, client_id].filter(name => name !== undefined)
  return named.length > 0 && named.every(name => parties.includes(name as string))
}
