/** Whether somebody may go to an app: by the cookies of the gateway, or by a token that this one request bears. */
import { hash } from 'node:crypto'
import type { AppRoute } from '../../base/app-route.ts'
import type { Clock } from '../../base/clock.ts'
import type { Identity } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import { andThen, type Soon } from '../../base/soon.ts'
import type { IdentityProvider } from '../../identity/provider.ts'
import type { Person } from '../../store/apps/members.ts'
import type { Access, Admission, Verdict } from '../access/access.ts'
import type { Bearer } from '../access/bearers.ts'
import { appScope } from '../access/scope.ts'
import type { Tries } from '../access/tries.ts'
import { cookiesOf, setSessionCookie } from '../policy/cookies.ts'
import { formToken } from '../policy/form-token.ts'
import { isNavigation } from '../policy/head.ts'
import { forbiddenPage, notFoundPage, problemPage, problems, type Start } from '../policy/pages.ts'
import { type AppTarget, loginPath, nextTo } from '../policy/target.ts'
import { Refused } from './refused.ts'
import { type Answer, plain, redirect, retryAfter, type Visit } from './visit.ts'
import type { WayIn } from './way-in.ts'

/** Somebody who may go to an app. */
export interface Entry {
  readonly admission: Admission
  readonly route: AppRoute
  /** Absent: nobody is logged in, and the app is public. */
  readonly user?: string | undefined
  /** For the answer. */
  readonly cookie?: string | undefined
  /** The request has an `Authorization` that the identity source does not know. */
  readonly isForeignAuthorization: boolean
}

/** A person whom the identity source knows by a token. */
interface Caller {
  readonly person: Person
  readonly bearer: Bearer
}

export interface JudgeParts {
  readonly access: Pick<Access, 'verdict' | 'verdictOf' | 'isMember' | 'find'>
  readonly identity: Pick<IdentityProvider, 'identify'>
  readonly tries: Pick<Tries, 'beginWords'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Where each app has a host of its own: the way there. Absent: all are at that of the platform. */
  readonly wayIn?: Pick<WayIn, 'presentedBy' | 'begin' | 'isOfOtherPage' | 'startAt'> | undefined
  /** Called for an unknown token, the first time that it comes, and for each request that must wait. */
  readonly onGuess: (visit: Visit, is: 'refused' | 'slow') => void
}

export class Judge {
  readonly #parts: JudgeParts

  constructor(parts: JudgeParts) {
    this.#parts = parts
  }

  /**
   * At once where all is known that it needs.
   * @throws {Refused} where nobody may go there with this request
   */
  judge(visit: Visit, target: AppTarget): Soon<Entry> {
    return andThen(this.#caller(visit), caller => {
      // Nobody would hear of a token that ends, as a session does.
      if (caller && visit.kind === 'websocket') throw new Refused('login', noSocket)
      const isOfOtherPage = this.#parts.wayIn?.isOfOtherPage(visit, target.id) === true
      return andThen(this.#verdict(visit, target, caller, isOfOtherPage), verdict => {
        if (verdict.is !== 'in') throw this.#refusal(verdict, visit, target)
        if (verdict.admitted && isOfOtherPage) throw ofOtherPage()
        const mayBeOfApp = verdict.route.passAuthorization && caller === undefined
        return andThen(mayBeOfApp && this.#isForeign(visit), isForeign => entryOf(verdict, target, isForeign))
      })
    })
  }

  #verdict(visit: Visit, { id: appId }: AppTarget, caller: Caller | undefined, isOfOtherPage: boolean): Soon<Verdict> {
    const { access, wayIn } = this.#parts
    if (caller) return access.verdictOf(caller.person, appId, caller.bearer)
    const address = visit.from.address ?? ''
    if (wayIn) {
      const entered = wayIn.presentedBy(visit)
      return access.verdict({ appId, entered, isOfOtherPage, login: [], session: [], address })
    }
    const { login, session } = cookiesOf(visit.incoming.rawHeaders)
    return access.verdict({ appId, login, session, address })
  }

  /** How the app is started, for those who may. */
  async startOf({ incoming, from }: Visit, { route, admission: { person } }: Entry): Promise<Start | undefined> {
    const { access, wayIn } = this.#parts
    if (wayIn) {
      // The form needs the login, which is known elsewhere. Of a visitor of a public app nobody can say whether he may.
      const mayBe = route.audience.kind === 'public' || (person !== undefined && access.isMember(route, person))
      return mayBe ? { at: wayIn.startAt(route.id) } : undefined
    }
    const login = await access.find(cookiesOf(incoming.rawHeaders).login, from.address ?? '')
    return login && access.isMember(route, login) ? { token: formToken(login.id, `start ${route.id}`) } : undefined
  }

  #refusal(verdict: Exclude<Verdict, { is: 'in' }>, visit: Visit, target: AppTarget): Refused {
    switch (verdict.is) {
      case 'login':
        return new Refused('login', isNavigation(visit.incoming) ? this.#wayIn(visit, target) : unauthorized)
      case 'forbidden':
        return new Refused('forbidden', forbiddenPage(verdict.route))
      case 'unknown':
        return new Refused('unknown', notFoundPage())
      case 'unavailable':
        return new Refused('unavailable', problemPage(problems.unavailable))
    }
  }

  #wayIn(visit: Visit, target: AppTarget): Answer {
    return this.#parts.wayIn?.begin(visit, target) ?? redirect(loginPath(nextTo(target)))
  }

  /** Whether no part of an `Authorization` is a token of the platform: some tools send one as the name or password of Basic. */
  #isForeign(visit: Visit): Soon<boolean> {
    const { authorization } = visit.incoming.headers
    if (authorization === undefined) return false
    return this.#tried(wordsOf(authorization), visit).then(identity => identity === undefined)
  }

  /** The token's owner; undefined where there is no token, or the identity source does not know it: it may be the app's. */
  #caller(visit: Visit): Soon<Caller | undefined> {
    const { authorization } = visit.incoming.headers
    const token = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1]
    return token === undefined ? undefined : this.#callerOf(token, visit)
  }

  async #callerOf(token: string, visit: Visit): Promise<Caller | undefined> {
    const atMs = this.#parts.clock.monotonicMs()
    const identity = await this.#tried([token], visit)
    if (!identity) return undefined
    if (!identity.scopes.includes(appScope)) throw new Refused('forbidden', plain(403, `the token lacks ${appScope}`))
    const key = hash('sha256', token, 'base64')
    return { person: personOf(identity), bearer: { key, atMs, ask: () => this.#askAgain(token) } }
  }

  /** Asks about a token that has let somebody in: that is no guess, so it is not counted. */
  async #askAgain(token: string): Promise<Person | undefined> {
    const identity = await this.#identity(token, [401, 403])
    return identity?.scopes.includes(appScope) ? personOf(identity) : undefined
  }

  /**
   * The identity of the first of these words that is a token.
   * @throws {Refused} for a client that has guessed too much
   */
  async #tried(words: readonly string[], visit: Visit): Promise<Identity | undefined> {
    const { tries, onGuess } = this.#parts
    const { afterMs, isKnown, succeeded } = tries.beginWords(words, visit.from.address ?? '')
    if (afterMs > 0) {
      onGuess(visit, 'slow')
      throw new Refused('slow', plain(429, 'there were too many unknown tokens', retryAfter(afterMs)))
    }
    for (const word of words) {
      const identity = await this.#identity(word)
      if (!identity) continue
      succeeded()
      return identity
    }
    if (!isKnown) onGuess(visit, 'refused')
    return undefined
  }

  /** @returns undefined for what is no token of the identity source: where it answers by one of these */
  async #identity(token: string, unknown: readonly number[] = [401]): Promise<Identity | undefined> {
    try {
      return await this.#parts.identity.identify(new Headers({ authorization: `Bearer ${token}` }), appScope)
    } catch (error) {
      if (error instanceof ApiError && unknown.includes(error.status)) return undefined
      throw error
    }
  }
}

const ofOtherPage = () => new Refused('origin', plain(403, 'a page of another origin asks for it'))

const personOf = ({ username: user, groups }: Identity): Person => ({ user, groups: groups.map(({ name }) => name) })

function entryOf(admission: Admission, { id }: AppTarget, isForeignAuthorization: boolean): Entry {
  const { route, user, newSessionId } = admission
  const cookie = newSessionId === undefined ? undefined : setSessionCookie(id, newSessionId)
  return { admission, route, user, cookie, isForeignAuthorization }
}

/** The words that could be a token: the credentials, and both halves of those of Basic. At most three. */
function wordsOf(authorization: string): string[] {
  const [, scheme = '', credentials = ''] = /^(\S*)\s*(.*)$/s.exec(authorization) ?? []
  const text = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString('latin1') : ''
  const at = text.indexOf(':')
  const halves = at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
  return [credentials, ...halves].filter(word => /^[!-~]{1,4096}$/.test(word))
}

const noSocket = plain(401, 'a WebSocket needs a login, and no token', { 'WWW-Authenticate': 'Bearer' })
const unauthorized = plain(401, 'log in first', { 'WWW-Authenticate': 'Bearer' })
