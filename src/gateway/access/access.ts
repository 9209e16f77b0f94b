/** Decides who may go to which app. A verdict is made of tables and answers of Redis that are at most 5 s old. */
import type { AppRoute } from '../../base/app-route.ts'
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { andThen, caught, type Soon } from '../../base/soon.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { Person } from '../../store/apps/members.ts'
import type { AppRing } from '../../store/apps/rings.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import type { Bearer } from './bearers.ts'
import { holdMs, type Seen, SessionChecks } from './checks.ts'
import { type Entrance, Entrances } from './entrances.ts'
import { Strangers } from './strangers.ts'
import type { MemberTable, RouteTable } from './tables.ts'
import { mostTried, type Visitor, Visitors } from './visitors.ts'
import type { Words } from './words.ts'

/** A session by which alone somebody is known, at the host of an app. It is worth nothing without the login that it names. */
export interface PresentedSession {
  /** Only the cookie has it. */
  readonly sessionId: string
  readonly loginHash: string
}

/** The ids of cookies that a request presents. */
export interface Presented {
  readonly appId: string
  /** Instead of logins and sessions. */
  readonly entered?: PresentedSession | undefined
  readonly login: readonly string[]
  readonly session: readonly string[]
  /** Whether a page of another origin may be behind it. Then it is no use of the session. */
  readonly isOfOtherPage?: boolean
  /** The address of the client, as far as trusted proxies tell it. */
  readonly address: string
}

/**
 * - `login`: nobody is logged in, whether there is such an app or not
 * - `unknown`: there is no such app, said to those who are logged in
 * - `forbidden`: logged in, and not a member
 * - `unavailable`: Redis does not answer, or has no whole table yet
 */
export type Verdict =
  | Admission
  | { readonly is: 'forbidden'; readonly route: AppRoute; readonly user: string }
  | { readonly is: 'login' | 'unknown' | 'unavailable' }

/** A verdict that lets a request in. */
export interface Admission {
  readonly is: 'in'
  readonly route: AppRoute
  /** Absent: the app is public, and nobody was asked for. */
  readonly user?: string | undefined
  readonly loginHash?: string | undefined
  readonly sessionHash?: string | undefined
  /** For a new cookie. */
  readonly newSessionId?: string | undefined
  /** The person of `user`; absent where the app is public. */
  readonly person?: Person | undefined
  /** By which session; absent for one who was let in by a token. */
  readonly admitted?: Admitted | undefined
  /** By which token, where the app is not for everybody. */
  readonly bearer?: Bearer | undefined
}

export interface Admitted {
  readonly seen: Seen
  readonly visitor: Visitor
  /** The version of the login. */
  readonly version: string
}

/** A login that holds now. */
export interface FoundLogin extends Person {
  /** As the cookie has it. */
  readonly id: string
  readonly hash: string
}

export interface AccessOptions {
  readonly routes: RouteTable
  readonly members: MemberTable
  readonly logins: Pick<LoginStore, 'read'>
  readonly sessions: Pick<SessionStore, 'create' | 'check'>
  readonly bell: { on(listener: (ring: AppRing) => void): () => void }
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Default: the identity source is never asked again. */
  readonly words?: Words | undefined
  /** Life of a session without use. */
  readonly sessionMs: number
  readonly onVerdict?: (is: Verdict['is']) => void
  /** Gets the number of sessions in each question to Redis. */
  readonly onAsk?: (sessions: number) => void
  /** Called for each session by which somebody is let in, and that is used so. */
  readonly onUse?: (seen: Seen) => void
}

/** A route that changes meanwhile is looked at again. */
const mostLooks = 3

type JudgeBy = (route: AppRoute | undefined) => Soon<Verdict>

function unavailableWhileAway(error: unknown): Verdict {
  if (error instanceof RetryLater) return { is: 'unavailable' }
  throw error
}

export class Access {
  readonly #options: AccessOptions
  readonly #checks: SessionChecks
  readonly #visitors: Visitors
  readonly #entrances: Entrances

  constructor(options: AccessOptions) {
    this.#options = options
    const { sessions, clock, onAsk, bell, logins, sessionMs } = options
    this.#checks = new SessionChecks({ sessions, clock, onAsk })
    this.#visitors = new Visitors(logins, this.#checks, new Strangers(clock))
    this.#entrances = new Entrances({ sessions, checks: this.#checks, sessionMs })
    bell.on(ring => this.#heard(ring))
  }

  /**
   * At once where all is known that it needs.
   * @throws {ApiError} 429 where too many unknown logins wait
   */
  verdict(presented: Presented): Soon<Verdict> {
    const verdict = this.#judge(presented.appId, route => this.#judgeCookies(route, presented))
    return andThen(verdict, given => {
      if (given.is === 'in' && given.admitted && !presented.isOfOtherPage) this.#options.onUse?.(given.admitted.seen)
      return given
    })
  }

  /**
   * The verdict about a person whom the identity source knows, for this request alone.
   * @param by the token that says who it is
   */
  verdictOf({ user, groups }: Person, appId: string, by?: Bearer): Soon<Verdict> {
    const person = { user, groups }
    return this.#judge(appId, (route): Verdict => {
      if (!route) return { is: 'unknown' }
      // Nobody asks about the token while the app is for everybody. So it says nothing when the app is that no more.
      if (route.audience.kind === 'public') return { is: 'in', route, user }
      const may = this.permits(route, person)
      if (may === 'unknown') return { is: 'unavailable' }
      if (!may) return { is: 'forbidden', route, user }
      return { is: 'in', route, user, person, bearer: by }
    })
  }

  /**
   * The first of these ids of cookies whose login holds.
   * @param address of the client that presents them
   * @throws {RetryLater} when Redis does not answer
   * @throws {ApiError} 429 as `verdict`
   */
  async find(loginIds: readonly string[], address: string): Promise<FoundLogin | undefined> {
    for (const id of loginIds.slice(0, mostTried)) {
      const visitor = await this.#visitors.present(await this.#visitors.claimed([id], address))
      if (visitor) return { id, hash: visitor.loginHash, user: visitor.user, groups: visitor.groups }
    }
    return undefined
  }

  /** Whether the app is for this person; undefined: for one who is not logged in. */
  permits({ audience, group }: AppRoute, person: Person | undefined): boolean | 'unknown' {
    if (audience.kind === 'public') return true
    if (!person) return false
    return audience.kind === 'loggedIn' || this.#options.members.isMember(person, group)
  }

  /** Whether a person is in the group of an app, and so may start it. */
  isMember(route: AppRoute, person: Person): boolean {
    return this.#options.members.isMember(person, route.group) === true
  }

  /**
   * The same login, as the identity source says by now; undefined where it knows it no more.
   * @throws {RetryLater} when the source or Redis does not answer
   */
  async confirmed(login: FoundLogin, address: string): Promise<FoundLogin | undefined> {
    return (await this.#holds(login.hash)) ? this.find([login.id], address) : undefined
  }

  /** Person of a login, as it is by now. For `Cuts`. */
  current(loginHash: string, version: string): Soon<Visitor | undefined> {
    return this.#visitors.current(loginHash, version)
  }

  #judge(appId: string, by: JudgeBy): Soon<Verdict> {
    const verdict = caught(() => this.#judgeNow(appId, by, mostLooks), unavailableWhileAway)
    return andThen(verdict, given => {
      this.#options.onVerdict?.(given.is)
      return given
    })
  }

  #judgeNow(appId: string, by: JudgeBy, looks: number): Soon<Verdict> {
    if (looks === 0) return { is: 'unavailable' }
    return andThen(this.#areTablesFresh(), areFresh => {
      const route = areFresh ? this.#options.routes.get(appId) : 'unknown'
      if (route === 'unknown') return { is: 'unavailable' }
      return andThen(by(route), verdict =>
        // A verdict by another route says nothing about this one.
        this.#options.routes.get(appId) === route ? verdict : this.#judgeNow(appId, by, looks - 1),
      )
    })
  }

  #judgeCookies(route: AppRoute | undefined, { entered, login, session, address }: Presented): Soon<Verdict> {
    if (route?.audience.kind === 'public') return { is: 'in', route }
    if (entered) return route ? this.#judgeEntered(route, entered, address) : { is: 'login' }
    return andThen(this.#visitors.claimed(login, address), visitors => {
      if (route) return andThen(this.#entrances.find(route, visitors, session), found => this.#enterBy(route, found))
      return andThen(this.#visitors.present(visitors), visitor => ({ is: visitor ? 'unknown' : 'login' }))
    })
  }

  /** The hash of a login alone lets nobody in: only a session that holds does. */
  #judgeEntered(route: AppRoute, { sessionId, loginHash }: PresentedSession, address: string): Soon<Verdict> {
    return andThen(this.#visitors.named(loginHash, address), visitor => {
      const found = visitor && this.#entrances.again(route, visitor, sessionId)
      return andThen(found, entrance => this.#enterBy(route, entrance))
    })
  }

  #enterBy(route: AppRoute, found: Entrance | undefined): Soon<Verdict> {
    if (!found) return { is: 'login' }
    const { version, visitor } = found
    return andThen(this.#holds(visitor.loginHash), holds => {
      const current = holds ? this.#visitors.current(visitor.loginHash, version) : undefined
      return andThen(current, now => (now ? this.#admit(route, found, now) : { is: 'login' }))
    })
  }

  /** @param visitor of the entrance, as the login is by now */
  #admit(route: AppRoute, found: Entrance, visitor: Visitor): Soon<Verdict> {
    const may = this.permits(route, visitor)
    if (may === 'unknown') return { is: 'unavailable' }
    if (!may) return { is: 'forbidden', route, user: visitor.user }
    if (found.seen) return admission(route, { ...found, visitor }, found.seen)
    return andThen(this.#entrances.enter(route, visitor), entered =>
      entered?.seen ? admission(route, entered, entered.seen) : { is: 'login' },
    )
  }

  /** Whether the identity source still knows a login, as it said a short while ago. */
  #holds(loginHash: string): Soon<boolean> {
    const { words } = this.#options
    if (!words || words.isFresh(loginHash)) return true
    return words.ask(loginHash).then(word => {
      if (word === 'changed') this.#visitors.forget(loginHash)
      return word !== 'ended'
    })
  }

  /** Both tables, since either may say that somebody may no longer. */
  #areTablesFresh(): Soon<boolean> {
    if (this.#areTablesYoung()) return true
    const { routes, members } = this.#options
    return Promise.all([routes.look(), members.look()]).then(() => this.#areTablesYoung())
  }

  #areTablesYoung(): boolean {
    const { routes, members, clock } = this.#options
    return clock.monotonicMs() - Math.min(routes.checkedMs, members.checkedMs) <= holdMs
  }

  #heard({ what, subject }: AppRing): void {
    if (what === 'missed') this.#checks.forget()
    if (what !== 'sessions' || !subject) return
    const { kind, name } = subject
    if (kind === 'login') this.#visitors.forget(name)
    this.#checks.forget(({ loginHash, user, appId }) => name === { login: loginHash, user, app: appId }[kind])
  }
}

function admission(route: AppRoute, { visitor, version, newSessionId }: Entrance, seen: Seen): Admission {
  const { user, loginHash } = visitor
  const { sessionHash } = seen.claim
  const admitted = { seen, visitor, version }
  return { is: 'in', route, user, loginHash, sessionHash, newSessionId, person: visitor, admitted }
}
