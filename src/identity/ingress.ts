/** Reads the statements of an ingress that has checked a request, and verifies that they are the ingress's. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { type CertificateOf, notKnown } from './provider.ts'

export const secretHeader = 'x-skylab-ingress-secret'
const userHeader = 'x-auth-request-user'
const tokenHeader = 'x-auth-request-token'

/** Printable, without spaces. Two headers of one name arrive joined by a comma: then neither is accepted. */
const single = /^[\x21-\x2b\x2d-\x7e]{1,4096}$/
const secretForm = /^[\x21-\x2b\x2d-\x7e]{16,512}$/

/** Whether a text can be a secret shared with the ingress: long enough, and valid in a header. */
export function isIngressSecret(text: string): boolean {
  return secretForm.test(text)
}

/** One list for each ingress; the lists have nothing in common. */
export interface ByIngress {
  readonly user: readonly string[]
  readonly admin: readonly string[]
  /** The ingress of the routes that labs themselves use. It admits everybody, so it vouches for nobody. */
  readonly lab: readonly string[]
}

/** What an ingress vouches for: a scope of the caller, or only that the request came through the ingress of labs. */
type Vouched = Scope | 'lab'

/** The secrets by which each ingress is known. */
export type IngressSecrets = ByIngress

/** The proofs by which ingresses are known: secrets, or names in certificates. */
export interface IngressProofs {
  readonly secrets: IngressSecrets
  /** Names in certificates. */
  readonly names: ByIngress
}

/** A secret's hash, and the only scope that its ingress vouches for. */
interface Known {
  readonly scope: Vouched
  readonly hash: Buffer
}

/** A name in a certificate, and the only scope that its ingress vouches for. */
interface KnownName {
  readonly scope: Vouched
  readonly name: string
}

export class Ingress {
  readonly #key = createSecretKey(randomBytes(32))
  readonly #known: readonly Known[]
  readonly #names: readonly KnownName[]
  readonly #trustsAnyone: boolean

  /**
   * @param proofs a request must have one of them; 'anyone' accepts the headers of every client that reaches the port
   */
  constructor(proofs: IngressProofs | 'anyone') {
    const { secrets, names } = proofs === 'anyone' ? { secrets: nothing, names: nothing } : proofs
    this.#trustsAnyone = proofs === 'anyone'
    this.#known = withScopes(secrets).map(({ scope, value }) => ({ scope, hash: this.#hash(value) }))
    this.#names = withScopes(names).map(({ scope, value }) => ({ scope, name: value }))
  }

  /**
   * @param scope the scope that the route demands; `lab` on routes that labs use
   * @throws {ApiError} 401 unless an ingress sent this request; 403 if that ingress does not vouch for the scope
   */
  requireIngress(headers: Headers, scope: Vouched, certificateOf?: CertificateOf): void {
    if (this.#trustsAnyone) return
    const byCertificate = this.#scopesByCertificate(certificateOf)
    // An ingress with a certificate may forward headers of a client, so a secret in them adds nothing.
    const vouched = byCertificate.length > 0 ? byCertificate : this.#scopesBySecret(headers)
    if (vouched.length === 0) throw notKnown('the request did not come through the ingress', secretHeader)
    if (vouched.every(each => each === scope)) return
    const what = scope === 'lab' ? 'is not that of labs' : `does not vouch for the scope ${scope}`
    const msg = `the ingress that sent this request ${what}`
    const loc = byCertificate.length > 0 ? {} : { loc: ['header', secretHeader] }
    throw new ApiError(403, { msg, type: 'scope_missing', ...loc })
  }

  /** A certificate with names of both ingresses has both scopes, and no route accepts it. */
  #scopesByCertificate(certificateOf: CertificateOf | undefined): readonly Vouched[] {
    const certificate = this.#names.length > 0 ? certificateOf?.() : undefined
    if (certificate === undefined) return []
    // The subject counts only if the certificate has no alternative names.
    const options = { subject: 'default', wildcards: false } as const
    return this.#names.filter(({ name }) => certificate.checkHost(name, options) !== undefined).map(each => each.scope)
  }

  #scopesBySecret(headers: Headers): readonly Vouched[] {
    const presented = this.#hash(headers.get(secretHeader) ?? '')
    // All are compared, by hashes under a key of this process, so that the time reveals nothing.
    return this.#known.filter(({ hash }) => timingSafeEqual(hash, presented)).map(each => each.scope)
  }

  #hash(secret: string): Buffer {
    return createHmac('sha256', this.#key).update(secret).digest()
  }
}

const nothing: ByIngress = { user: [], admin: [], lab: [] }

function withScopes({ user, admin, lab }: ByIngress): { readonly scope: Vouched; readonly value: string }[] {
  return [
    ...user.map(value => ({ scope: 'exec:notebook' as const, value })),
    ...admin.map(value => ({ scope: 'admin:jupyterlab' as const, value })),
    ...lab.map(value => ({ scope: 'lab' as const, value })),
  ]
}

/** @throws {ApiError} 401 unless the request names one user */
export function userOf(headers: Headers): string {
  return one(headers, userHeader, 'the ingress names no user')
}

/** @throws {ApiError} 401 unless the request has one token of its user */
export function tokenOf(headers: Headers): string {
  return one(headers, tokenHeader, 'the ingress delegates no token')
}

function one(headers: Headers, name: string, problem: string): string {
  const value = headers.get(name)
  if (value !== null && single.test(value)) return value
  throw notKnown(problem, name)
}
