/** The last step of each login: who it is, whether the scope is there, and its entry in Redis. */
import type { Identity } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { Access } from '../access/access.ts'
import { appScope } from '../access/scope.ts'
import type { TryRates } from '../access/tries.ts'
import { cookiesOf, setLoginCookie } from '../policy/cookies.ts'
import { type FailedLogin, failedLoginPage, logOutFirstPage, problemPage } from '../policy/pages.ts'
import { Refused } from '../server/refused.ts'
import { type Answer, redirect, retryAfter, type Visit } from '../server/visit.ts'
import type { Keeper, Kept } from './keeper.ts'

/**
 * - `denied`: the identity source refuses
 * - `foreign`: it did not begin in this browser, or has come back before
 * - `forbidden`: the person lacks the scope
 * - `revoked`: while it was on its way
 * - `other`: somebody else is logged in in this browser
 */
export type LoginResult = 'in' | 'denied' | 'foreign' | 'forbidden' | 'revoked' | 'other' | 'slow' | 'unavailable'

/** A login holds a try while it is on its way, and a whole class may come from one address at once. No token is guessed here. */
export const triesOfLogins: TryRates = {
  ofAddress: { perSecond: 1, burst: 100 },
  ofAll: { perSecond: 20, burst: 1_000 },
}

export interface EnterParts {
  readonly logins: Pick<LoginStore, 'begin' | 'create'>
  readonly access: Pick<Access, 'find'>
  readonly keeper: Pick<Keeper, 'seal'>
  readonly lifeMs: number
  readonly onLogin: (is: LoginResult) => void
}

/** Somebody whom the identity source knows. */
export interface Known {
  readonly identity: Pick<Identity, 'username' | 'groups' | 'scopes'>
  readonly kept: Kept
  /** The number that `LoginStore.begin` returned before the source was asked. */
  readonly begun: number
  /** The user who is logged in in this browser already. */
  readonly present: string | undefined
}

/**
 * The user who is logged in in the browser that sends this.
 * @throws {RetryLater} when Redis does not answer; {ApiError} 429 as `Access.find`
 */
export const presentIn = async (
  { incoming, from }: Visit,
  { access }: Pick<EnterParts, 'access'>,
): Promise<string | undefined> => (await access.find(cookiesOf(incoming.rawHeaders).login, from.address ?? ''))?.user

/**
 * @returns the id for the cookie
 * @throws {RetryLater} when Redis does not answer
 */
export async function enter(
  { identity, kept, begun, present }: Known,
  { logins, keeper, lifeMs }: EnterParts,
): Promise<{ readonly id: string; readonly user: string } | 'forbidden' | 'revoked' | 'other'> {
  const { username: user, groups, scopes } = identity
  // An app's script may have brought the way back of its author: a visitor never becomes somebody else unasked.
  if (present !== undefined && present !== user) return 'other'
  if (!scopes.includes(appScope)) return 'forbidden'
  const seal = (hash: string) => keeper.seal(kept, hash)
  const made = await logins.create({ user, groups: groups.map(({ name }) => name), begun, lifeMs, seal })
  return made === 'revoked' ? made : { id: made.id, user }
}

/** The way to what somebody wanted. */
export const entered = (id: string, next: string | undefined, lifeMs: number, cookies: readonly string[]): Answer =>
  redirect(next ?? '/console/login', { 'Set-Cookie': [setLoginCookie(id, lifeMs / 1000), ...cookies] })

const failures: Readonly<Record<Exclude<LoginResult, 'in' | 'unavailable'>, Pick<FailedLogin, 'status' | 'says'>>> = {
  denied: { status: 403, says: 'The identity provider did not log you in.' },
  foreign: { status: 400, says: 'This login did not begin in this browser, took too long, or was used before.' },
  forbidden: { status: 403, says: `Your account lacks ${appScope}, without which nobody opens apps here.` },
  other: { status: 409, says: 'Somebody else is logged in in this browser.' },
  revoked: { status: 403, says: 'You were just logged out everywhere.' },
  slow: { status: 429, says: 'There were too many tries. Wait a moment.' },
}

/** The page for a login that led to nothing. */
export function failed(
  is: keyof typeof failures,
  {
    next,
    afterMs = 0,
    cookies = [],
  }: { next?: string | undefined; afterMs?: number; cookies?: readonly string[] } = {},
): Answer {
  const { status, says } = failures[is]
  const page = is === 'other' ? logOutFirstPage({ status, says }) : failedLoginPage({ status, says, next })
  const wait = afterMs > 0 ? retryAfter(afterMs) : {}
  return { ...page, headers: { ...page.headers, ...wait, ...(cookies.length > 0 && { 'Set-Cookie': cookies }) } }
}

/** The identity source does not answer, or Redis. */
export function silent(error: unknown): Refused {
  const what = error instanceof RetryLater ? 'It cannot keep your login now.' : 'The identity provider does not answer.'
  const headers = { 'Retry-After': '5' }
  return new Refused(
    'unavailable',
    problemPage({ status: 503, title: 'You cannot log in now', says: `${what} Try again.`, headers }),
  )
}
