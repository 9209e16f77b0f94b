/** Who may go to which app. A verdict is made of tables and answers of Redis that are at most 5 s old. */
import type { AppRoute } from '../../base/app-route.ts'
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { AppRing } from '../../store/apps/rings.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import { holdMs, type Seen, SessionChecks } from './checks.ts'
import { type Entrance, Entrances } from './entrances.ts'
import type { MemberTable, Person, RouteTable } from './tables.ts'
import { mostTried, type Visitor, Visitors } from './visitors.ts'

/** What a request presents: ids of cookies. */
export interface Presented {
  readonly appId: string
  readonly login: readonly string[]
  readonly session: readonly string[]
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
  /** Who `user` is. */
  readonly person?: Person | undefined
  /** By which session; absent for one who was let in by a token. */
  readonly admitted?: Admitted | undefined
}

export interface Admitted {
  readonly seen: Seen
  readonly visitor: Visitor
  /** Of the login. */
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
  /** Life of a session without use. */
  readonly sessionMs: number
  readonly onVerdict?: (is: Verdict['is']) => void
  /** Gets the number of sessions in each question to Redis. */
  readonly onAsk?: (sessions: number) => void
  /** Called for each session by which somebody is let in. */
  readonly onUse?: (seen: Seen) => void
}

/** A route that changes meanwhile is looked at again. */
const mostLooks = 3

export class Access {
  readonly #options: AccessOptions
  readonly #checks: SessionChecks
  readonly #visitors: Visitors
  readonly #entrances: Entrances

  constructor(options: AccessOptions) {
    this.#options = options
    const { sessions, clock, onAsk, bell, logins, sessionMs } = options
    this.#checks = new SessionChecks({ sessions, clock, onAsk })
    this.#visitors = new Visitors(logins, this.#checks)
    this.#entrances = new Entrances({ sessions, checks: this.#checks, sessionMs })
    bell.on(ring => this.#heard(ring))
  }

  async verdict({ appId, login, session }: Presented): Promise<Verdict> {
    const verdict = await this.#judge(appId, route => this.#judgeCookies(route, login, session))
    if (verdict.is === 'in' && verdict.admitted) this.#options.onUse?.(verdict.admitted.seen)
    return verdict
  }

  /** Of one whom the identity source knows by a token, for this request alone. */
  verdictOf({ user, groups }: Person, appId: string): Promise<Verdict> {
    const person = { user, groups }
    return this.#judge(appId, async (route): Promise<Verdict> => {
      if (!route) return { is: 'unknown' }
      const may = this.permits(route, person)
      if (may === 'unknown') return { is: 'unavailable' }
      return may ? { is: 'in', route, user, person } : { is: 'forbidden', route, user }
    })
  }

  /**
   * The first of these ids of cookies whose login holds.
   * @throws {RetryLater} when Redis does not answer
   */
  async find(loginIds: readonly string[]): Promise<FoundLogin | undefined> {
    for (const id of loginIds.slice(0, mostTried)) {
      const visitor = await this.#visitors.present(await this.#visitors.claimed([id]))
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

  /** Person of a login, as it is by now. For `Cuts`. */
  current(loginHash: string, version: string): Promise<Visitor | undefined> {
    return this.#visitors.current(loginHash, version)
  }

  async #judge(appId: string, by: (route: AppRoute | undefined) => Promise<Verdict>): Promise<Verdict> {
    const verdict = await this.#judgeNow(appId, by).catch((error): Verdict => {
      if (error instanceof RetryLater) return { is: 'unavailable' }
      throw error
    })
    this.#options.onVerdict?.(verdict.is)
    return verdict
  }

  async #judgeNow(appId: string, by: (route: AppRoute | undefined) => Promise<Verdict>): Promise<Verdict> {
    for (let look = 1; look <= mostLooks; look++) {
      if (!(await this.#areTablesFresh())) return { is: 'unavailable' }
      const route = this.#options.routes.get(appId)
      if (route === 'unknown') return { is: 'unavailable' }
      const verdict = await by(route)
      // What was judged by another route says nothing about this one.
      if (this.#options.routes.get(appId) === route) return verdict
    }
    return { is: 'unavailable' }
  }

  async #judgeCookies(
    route: AppRoute | undefined,
    login: readonly string[],
    session: readonly string[],
  ): Promise<Verdict> {
    if (route?.audience.kind === 'public') return { is: 'in', route }
    const visitors = await this.#visitors.claimed(login)
    if (!route) return { is: (await this.#visitors.present(visitors)) ? 'unknown' : 'login' }
    const found = await this.#entrances.find(route, visitors, session)
    const entrance = found && (await this.#withCurrent(found))
    if (!entrance) return { is: 'login' }
    const may = this.permits(route, entrance.visitor)
    if (may === 'unknown') return { is: 'unavailable' }
    if (!may) return { is: 'forbidden', route, user: entrance.visitor.user }
    const entered = entrance.seen ? entrance : await this.#entrances.enter(route, entrance.visitor)
    return entered?.seen ? admission(route, entered, entered.seen) : { is: 'login' }
  }

  async #withCurrent(entrance: Entrance): Promise<Entrance | undefined> {
    const visitor = await this.#visitors.current(entrance.visitor.loginHash, entrance.version)
    return visitor && { ...entrance, visitor }
  }

  /** Both tables, since either may say that somebody may no longer. */
  async #areTablesFresh(): Promise<boolean> {
    const { routes, members, clock } = this.#options
    const isFresh = () => clock.monotonicMs() - Math.min(routes.checkedMs, members.checkedMs) <= holdMs
    if (isFresh()) return true
    await Promise.all([routes.look(), members.look()])
    return isFresh()
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
