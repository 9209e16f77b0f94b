/** Tokens in forms of the gateway: only a page that was made for a login has one. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** A form ends the login, or starts an app. */
export type FormPurpose = 'logout' | `start ${string}`

/**
 * The token of a form. It is made of the id in the login's cookie, which no script can read: nobody else can make one, and it
 * ends with the login.
 */
export const formToken = (loginId: string, purpose: FormPurpose): string =>
  hmacOf(loginId, purpose).toString('base64url')

/** Whether a form that came has the token of this login and purpose. */
export function isFormToken(token: string | null | undefined, loginId: string, purpose: FormPurpose): boolean {
  const presented = Buffer.from(token ?? '', 'base64url')
  const expected = hmacOf(loginId, purpose)
  return presented.length === expected.length && timingSafeEqual(presented, expected)
}

const hmacOf = (loginId: string, purpose: FormPurpose) =>
  createHmac('sha256', loginId).update(`skylab form ${purpose}`).digest()
