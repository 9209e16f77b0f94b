/** Who is asking: the seam behind which identities come from. */
import type { X509Certificate } from 'node:crypto'
import type { Identity, Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Reason } from '../base/reasons.ts'

/** The certificate of the other end of a connection; undefined where no client authority vouches for one. */
export type CertificateOf = () => X509Certificate | undefined

export interface IdentityProvider {
  /**
   * Who sent a request with these headers.
   * @param scope which the route demands. What a provider finds out at a price it finds out only where the route needs
   *   it; an ingress that has checked scopes vouches for this one alone.
   * @param certificateOf what vouches for the other end of the connection, where it showed a certificate
   * @throws {ApiError} 401 without a token that is known; 403 for a token that says who it is, but nothing that can be
   *   used; 503 while the source of identities does not answer
   */
  identify(headers: Headers, scope: Scope, certificateOf?: CertificateOf): Promise<Identity>

  /**
   * Asked before each change.
   * @throws {ApiError} 403 where cookies alone may have made it the request of this user
   */
  requireIntent?(headers: Headers): void

  /**
   * All scopes of a caller's token, where those of the identity are fewer. Asked before a lab gets the token.
   * @throws {ApiError} 401, 403, 429, 503 as `identify`
   */
  scopesOf?(caller: Identity): Promise<readonly string[]>

  /** Asks the source, where there is one, as a request would: a mistake is named before a user meets it. @throws {ApiError} 503 */
  probe?(): Promise<void>

  /** Why the source cannot be used; undefined where it can, or was not asked yet. */
  trouble?(): Reason | undefined
}

/** More than any header that the server lets in. */
const maxTokenLength = 16_384
const bearer = /^Bearer +([\x21-\x7e]+)$/i

/** The one bearer token of a request, or undefined: for none, for two, and for what is no token. */
export function bearerToken(headers: Headers): string | undefined {
  const token = bearer.exec(headers.get('authorization') ?? '')?.[1]
  return token === undefined || token.length > maxTokenLength ? undefined : token
}

/** 401: the request has no token, or none that is known. Which of them is not told. */
export function unauthorized(): ApiError {
  return notKnown('a valid token is required', 'authorization')
}

/** 401 because of a header. */
export function notKnown(msg: string, header: string): ApiError {
  return new ApiError(401, { msg, type: 'unauthorized', loc: ['header', header] }, { 'WWW-Authenticate': 'Bearer' })
}
