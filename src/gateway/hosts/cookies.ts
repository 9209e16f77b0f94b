/** The gateway's cookies at the hosts of apps. No script and no app can set one of these names, as `loginCookie`. Pure. */
import type { HeaderList } from '../../base/request-head.ts'
import { isHash, isId } from '../../store/apps/ids.ts'
import type { PresentedSession } from '../access/access.ts'
import { beginsWith, clearCookie, setBrowserCookie, setCookie } from '../policy/cookies.ts'

/** The session of the app whose host it is. */
export const appCookie = '__Host-Http-skylab-app'
/** One for each way into the app that has begun, so that tabs do not disturb each other. */
export const nonceCookie = '__Host-Http-skylab-nonce-'

/** How long somebody may take to log in. */
export const nonceSeconds = 600
/** Ways of one browser into one app at once, such as of tabs that it restores. */
const mostNonces = 4

/** It ends with the browser, and earlier with its entry in Redis. */
export const setAppCookie = ({ sessionId, loginHash }: PresentedSession): string =>
  setBrowserCookie(appCookie, `${sessionId}.${loginHash}`)

/** Browsers keep one cookie of this name. */
export function enteredBy(rawHeaders: HeaderList): PresentedSession | undefined {
  const [sessionId = '', loginHash = ''] = beginsWith(rawHeaders, appCookie).get(appCookie)?.split('.') ?? []
  return isId(sessionId) && isHash(loginHash) ? { sessionId, loginHash } : undefined
}

/**
 * Cookies for a way that begins: its nonce, and the end of the oldest of those that are too many. Browsers send these first.
 * @param hash of the nonce
 */
export function setNonceCookies(nonce: string, hash: string, rawHeaders: HeaderList): string[] {
  const own = setCookie(nameOf(hash), nonce, nonceSeconds)
  const others = [...beginsWith(rawHeaders, nonceCookie).keys()]
  // A browser that never comes back would send ever more of them.
  return [own, ...others.slice(0, Math.max(0, others.length + 1 - mostNonces)).map(clearCookie)]
}

/** The cookie that may be the nonce of this hash; the hash must still be compared. */
export const nonceOf = (hash: string, rawHeaders: HeaderList): string | undefined =>
  beginsWith(rawHeaders, nonceCookie).get(nameOf(hash))

export const clearNonceCookie = (hash: string): string => clearCookie(nameOf(hash))

const nameOf = (hash: string) => nonceCookie + hash.slice(0, 8)
