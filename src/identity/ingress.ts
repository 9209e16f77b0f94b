/** What an ingress that has checked a request says of it, and how it is known that the ingress said it. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Scope } from '../domain.ts'
import { ApiError } from '../errors.ts'
import { notKnown } from './provider.ts'

export const secretHeader = 'x-skylab-ingress-secret'
const userHeader = 'x-auth-request-user'
const tokenHeader = 'x-auth-request-token'

/** Printable, without spaces. Two headers of a name arrive as one with a comma between: neither of them counts then. */
const single = /^[\x21-\x2b\x2d-\x7e]{1,4096}$/
const secretForm = /^[\x21-\x2b\x2d-\x7e]{16,512}$/

/** Whether it may be a secret shared with the ingress: long enough, and fit for a header. */
export function isIngressSecret(text: string): boolean {
  return secretForm.test(text)
}

/** What each ingress may send to be known. None is in both lists. */
export interface IngressSecrets {
  readonly user: readonly string[]
  readonly admin: readonly string[]
}

/** A secret's hash, and the one scope that the ingress which has it vouches for. */
interface Known {
  readonly scope: Scope
  readonly hash: Buffer
}

export class Ingress {
  readonly #key = createSecretKey(randomBytes(32))
  readonly #known: readonly Known[] | 'anyone'

  /** @param secrets of which a request must bear one; 'anyone' takes the headers of whoever reaches the port */
  constructor(secrets: IngressSecrets | 'anyone') {
    const known = (scope: Scope) => (secret: string) => ({ scope, hash: this.#hash(secret) })
    this.#known =
      secrets === 'anyone'
        ? secrets
        : [...secrets.user.map(known('exec:notebook')), ...secrets.admin.map(known('admin:jupyterlab'))]
  }

  /**
   * @param scope which the route demands
   * @throws {ApiError} 401 unless an ingress sent this request; 403 if that one does not vouch for the scope
   */
  requireIngress(headers: Headers, scope: Scope): void {
    if (this.#known === 'anyone') return
    const presented = this.#hash(headers.get(secretHeader) ?? '')
    // All are compared, whichever fits: hashes under a key of this process, in a time that tells nothing.
    const vouched = this.#known.filter(({ hash }) => timingSafeEqual(hash, presented)).map(each => each.scope)
    if (vouched.length === 0) throw notKnown('the request did not come through the ingress', secretHeader)
    if (vouched.includes(scope)) return
    const msg = `the ingress that sent this request does not vouch for the scope ${scope}`
    throw new ApiError(403, { msg, type: 'scope_missing', loc: ['header', secretHeader] })
  }

  #hash(secret: string): Buffer {
    return createHmac('sha256', this.#key).update(secret).digest()
  }
}

/** @throws {ApiError} 401 unless the request names one user */
export function userOf(headers: Headers): string {
  return one(headers, userHeader, 'the ingress names no user')
}

/** @throws {ApiError} 401 unless the request bears one token of its user */
export function tokenOf(headers: Headers): string {
  return one(headers, tokenHeader, 'the ingress delegates no token')
}

function one(headers: Headers, name: string, problem: string): string {
  const value = headers.get(name)
  if (value !== null && single.test(value)) return value
  throw notKnown(problem, name)
}
