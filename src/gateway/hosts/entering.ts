/**
 * The way to the host of an app: from there to the platform, which knows the login, and back with a code. The code can be used once,
 * for this app, in the browser that began.
 */
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { appPrefix } from '../../apps/names.ts'
import type { AppRoute } from '../../base/app-route.ts'
import type { Buckets } from '../../base/buckets.ts'
import { RetryLater } from '../../base/errors.ts'
import type { CodeStore, CodeTerms } from '../../store/apps/codes.ts'
import { hashOf, isHash, newId } from '../../store/apps/ids.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import type { Access } from '../access/access.ts'
import type { RouteTable } from '../access/tables.ts'
import type { Tries } from '../access/tries.ts'
import { cookiesOf } from '../policy/cookies.ts'
import type { Hosts } from '../policy/hosts.ts'
import { forbiddenPage, notFoundPage } from '../policy/pages.ts'
import { type AppTarget, checkNext, loginPath, nextIn, nextTo, oneOf } from '../policy/target.ts'
import type { Tell } from '../server/login-pages.ts'
import { notServed, type Reason, Refused } from '../server/refused.ts'
import { type Answer, plain, redirect, retryAfter, type Visit } from '../server/visit.ts'
import type { WayIn } from '../server/way-in.ts'
import { clearNonceCookie, enteredBy, nonceOf, setAppCookie, setNonceCookies } from './cookies.ts'
import { type FailedEntry, failedBy, failedEntryPage, leftBy, leftTo, mayHaveCode, statusOf } from './pages.ts'
import { isOfOtherPage, isTopLevel } from './pages-of-others.ts'

export interface EnteringParts {
  readonly hosts: Hosts
  readonly access: Pick<Access, 'find' | 'confirmed' | 'verdict' | 'verdictOf'>
  readonly routes: Pick<RouteTable, 'get' | 'look'>
  readonly codes: Pick<CodeStore, 'make' | 'use'>
  readonly sessions: Pick<SessionStore, 'create'>
  /** Codes that a login may have made. */
  readonly made: Pick<Buckets, 'take'>
  /** Codes that are none. */
  readonly tries: Pick<Tries, 'begin'>
  readonly sessionMs: number
}

/** The rate of codes for one login: each is in Redis for a minute. */
export const codeRate = { perSecond: 1, burst: 60 }

/** Below what a request line may have by default. */
const longestQuery = 3_000

/**
 * No page reads the address that a redirect leads to: the referrer of what comes next, an opener's look at the window, and the
 * history of a tab would tell it.
 */
const unseen = { 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin' }

const unseenBy = (answer: Answer): Answer => ({ ...answer, headers: { ...answer.headers, ...unseen } })

export class Entering implements WayIn {
  readonly #parts: EnteringParts

  constructor(parts: EnteringParts) {
    this.#parts = parts
  }

  begin({ incoming }: Visit, target: AppTarget): Answer {
    // The way is for tabs. One for each frame would push out those of tabs.
    if (isTopLevel(incoming) === false) return plain(401, 'log in first', { 'WWW-Authenticate': 'Bearer' })
    const nonce = newId()
    const hash = hashOf(nonce)!
    const { origin } = this.#parts.hosts.platform
    return redirect(`${origin}/console/enter/${target.id}?${queryOf({ nonce: hash }, nextTo(target))}`, {
      'Referrer-Policy': 'no-referrer',
      'Set-Cookie': setNonceCookies(nonce, hash, incoming.rawHeaders),
    })
  }

  presentedBy({ incoming }: Visit) {
    return enteredBy(incoming.rawHeaders)
  }

  isOfOtherPage({ incoming }: Visit, id: string): boolean {
    return isOfOtherPage(incoming, this.#parts.hosts.ofApp(id))
  }

  startAt(id: string): string {
    return `${this.#parts.hosts.platform.origin}/console/start/${id}`
  }

  async lead(visit: Visit, id: string, query: string): Promise<Answer> {
    requireTopLevel(visit)
    const nonceHash = oneOf(query, 'nonce') ?? ''
    if (!isHash(nonceHash)) throw new Refused('malformed', plain(400, 'the way into the app has no nonce'))
    const next = nextIn(checkNext(oneOf(query, 'next')), id)
    const login = await this.#loginOf(visit)
    if (!login) return redirect(loginPath(next))
    const { access, hosts, made, codes } = this.#parts
    const verdict = await access.verdictOf(login, id)
    if (verdict.is === 'forbidden') throw new Refused('forbidden', forbiddenPage(verdict.route))
    if (verdict.is === 'unknown') throw new Refused('unknown', notFoundPage())
    if (verdict.is !== 'in') throw new RetryLater('the routes are not known')
    const { origin } = hosts.ofApp(id)
    if (verdict.route.audience.kind === 'public') return redirect(origin + next, unseen)
    const afterMs = made.take(login.hash)
    if (afterMs > 0) throw tooFast(afterMs)
    const terms = { appId: id, appUid: verdict.route.uid, loginHash: login.hash, user: login.user, nonceHash }
    const code = await codes.make(terms)
    return redirect(`${origin}/console/enter?${queryOf({ code }, next)}`, unseen)
  }

  async arrive(visit: Visit, appId: string, query: string, tell: Tell): Promise<Answer> {
    const is = leftBy(query)
    if (!is) return unseenBy(await this.#arrive(visit, appId, query, tell))
    return unseenBy(failedEntryPage(is, `${appPrefix(appId)}/`))
  }

  leave({ incoming }: Visit, reason: Reason | undefined): Answer | undefined {
    return mayHaveCode(incoming.url) ? redirect(leftTo(failedBy(reason)), unseen) : undefined
  }

  async #arrive(visit: Visit, appId: string, query: string, tell: Tell): Promise<Answer> {
    requireTopLevel(visit)
    const { afterMs, succeeded } = this.#parts.tries.begin(visit.from.address ?? '')
    if (afterMs > 0) throw tooFast(afterMs)
    const terms = await this.#parts.codes.use(oneOf(query, 'code') ?? '', randomUUID()).catch(error => {
      // Nobody has learned whether it is one.
      succeeded()
      throw error
    })
    const fault = terms ? await this.#faultOf(terms, visit, appId) : 'foreign'
    if (!terms || fault) throw failed(fault ?? 'foreign', tell)
    succeeded()
    const cookies = [...(await this.#enter(visit, terms, tell)), clearNonceCookie(terms.nonceHash)]
    return redirect(nextIn(checkNext(oneOf(query, 'next')), appId), { 'Set-Cookie': cookies })
  }

  /** @returns the cookie of a new session; none where the browser has one of this login, which another tab may use */
  async #enter({ incoming, from }: Visit, terms: CodeTerms, tell: Tell): Promise<readonly string[]> {
    const { appId, appUid, loginHash, user } = terms
    const { access, sessions, sessionMs: lifeMs } = this.#parts
    const entered = enteredBy(incoming.rawHeaders)
    if (entered?.loginHash === loginHash) {
      const verdict = await access.verdict({ appId, entered, login: [], session: [], address: from.address ?? '' })
      if (verdict.is === 'in' && verdict.admitted) return []
    }
    const formerId = entered?.sessionId
    const sessionId = await sessions.create({ appId, appUid, loginHash, user, lifeMs, formerId })
    if (sessionId === undefined) throw failed('ended', tell)
    return [setAppCookie({ sessionId, loginHash })]
  }

  async #loginOf({ incoming, from }: Visit) {
    const { access } = this.#parts
    const address = from.address ?? ''
    const login = await access.find(cookiesOf(incoming.rawHeaders).login, address)
    return login && access.confirmed(login, address)
  }

  async #faultOf(terms: CodeTerms, { incoming }: Visit, appId: string): Promise<FailedEntry | undefined> {
    const hash = hashOf(nonceOf(terms.nonceHash, incoming.rawHeaders) ?? '')
    if (terms.appId !== appId || hash === undefined || !areEqual(hash, terms.nonceHash)) return 'foreign'
    return (await this.#isThisApp(appId, terms.appUid)) ? undefined : 'replaced'
  }

  /** Another gateway may have learned of a new app before this one. */
  async #isThisApp(id: string, uid: string): Promise<boolean> {
    const { routes } = this.#parts
    const isIt = (route: AppRoute | 'unknown' | undefined) => typeof route === 'object' && route.uid === uid
    if (isIt(routes.get(id))) return true
    await routes.look()
    return isIt(routes.get(id))
  }
}

/** With a `next` that is too long, the app's first page is shown instead: escaped, a path takes thrice its length. */
function queryOf(terms: Readonly<Record<string, string>>, next: string): string {
  const whole = new URLSearchParams({ ...terms, next }).toString()
  return whole.length <= longestQuery ? whole : new URLSearchParams(terms).toString()
}

/** A frame or a script has no business on the way, and a look ahead of the browser must not use what can be used once. */
function requireTopLevel({ incoming }: Visit): void {
  if (incoming.method !== 'GET') throw notServed('GET')
  if (isTopLevel(incoming) === false) throw new Refused('origin', plain(403, 'only a tab of its own is led to an app'))
}

function failed(is: FailedEntry, tell: Tell): Refused {
  tell.out(is, statusOf(is))
  return new Refused('entry', redirect(leftTo(is), unseen))
}

const tooFast = (afterMs: number) =>
  new Refused('slow', plain(429, 'there were too many tries: wait a moment', retryAfter(afterMs)))

const areEqual = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))
