/** What an ingress that has checked a request says of it, and how it is known that the ingress said it. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto'
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

export class Ingress {
  readonly #key = createSecretKey(randomBytes(32))
  readonly #secrets: readonly Buffer[] | 'anyone'

  /** @param secrets of which a request must bear one; 'anyone' takes the headers of whoever reaches the port */
  constructor(secrets: readonly string[] | 'anyone') {
    this.#secrets = secrets === 'anyone' ? secrets : secrets.map(secret => this.#hash(secret))
  }

  /** @throws {ApiError} 401 unless the ingress sent this request */
  requireIngress(headers: Headers): void {
    if (this.#secrets === 'anyone') return
    const presented = this.#hash(headers.get(secretHeader) ?? '')
    // All are compared, whichever fits: hashes under a key of this process, in a time that tells nothing.
    const known = this.#secrets.filter(secret => timingSafeEqual(secret, presented)).length > 0
    if (!known) throw notKnown('the request did not come through the ingress', secretHeader)
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
