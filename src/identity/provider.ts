/** Identifies callers: the interface of all identity providers. */
import type { X509Certificate } from 'node:crypto'
import type { Identity, Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Reason } from '../base/reasons.ts'

/** The certificate of the other end of a connection; undefined if no client authority vouches for one. */
export type CertificateOf = () => X509Certificate | undefined

export interface IdentityProvider {
  /**
   * Identifies the sender of a request by its headers.
   * @param scope the scope that the route demands. A provider does expensive checks only if the route needs them; an
   *   ingress that has checked scopes vouches for this one only.
   * @param certificateOf the certificate of the other end of the connection, if it has one
   * @throws {ApiError} 401 without a known token; 403 for a token that identifies its user, but whose data cannot be
   *   used; 503 while the source of identities does not answer
   */
  identify(headers: Headers, scope: Scope, certificateOf?: CertificateOf): Promise<Identity>

  /**
   * Called before each change.
   * @throws {ApiError} 403 if cookies alone may have made it a request of this user
   */
  requireIntent?(headers: Headers): void

  /**
   * Called before the token of a lab is looked at, on the routes that labs themselves use.
   * @throws {ApiError} 401, 403 if the request did not come through the ingress of these routes, where there is one
   */
  requireLab?(headers: Headers, certificateOf?: CertificateOf): void

  /**
   * All scopes of a caller's token, if the identity has fewer. Called before a lab gets the token.
   * @throws {ApiError} 401, 403, 429, 503 as `identify`
   */
  scopesOf?(caller: Identity): Promise<readonly string[]>

  /**
   * Asks the source, if there is one, as a request would: reveals mistakes before a user meets them. @throws {ApiError}
   * 503
   */
  probe?(): Promise<void>

  /** Why the source cannot be used; undefined if it can be, or was not asked yet. */
  trouble?(): Reason | undefined
}

/** Longer than any header that the server accepts. */
const maxTokenLength = 16_384
const bearer = /^Bearer +([\x21-\x7e]+)$/i

/** The bearer token of a request; undefined for none, for two, and for an invalid one. */
export function bearerToken(headers: Headers): string | undefined {
  const token = bearer.exec(headers.get('authorization') ?? '')?.[1]
  return token === undefined || token.length > maxTokenLength ? undefined : token
}

/** 401: the request has no token, or an unknown one. The response does not say which. */
export function unauthorized(): ApiError {
  return notKnown('a valid token is required', 'authorization')
}

/** 401 because of a header. */
export function notKnown(msg: string, header: string): ApiError {
  return new ApiError(401, { msg, type: 'unauthorized', loc: ['header', header] }, { 'WWW-Authenticate': 'Bearer' })
}
