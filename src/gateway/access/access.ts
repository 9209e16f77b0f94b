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
import { type Visitor, Visitors } from './visitors.ts'

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

/** A verdict that lets a request in; `Cuts.add` takes it for what stays open. */
export interface Admission {
  readonly is: 'in'
  readonly route: AppRoute
  /** Absent: the app is public, and nobody was asked for. */
  readonly user?: string | undefined
  readonly loginHash?: string | undefined
  readonly sessionHash?: string | undefined
  /** For a new cookie. */
  readonly newSessionId?: string | undefined
  /** Who it is, and by which session. */
  readonly admitted?: Admitted | undefined
}

export interface Admitted {
  readonly seen: Seen
  readonly visitor: Visitor
  /** Of the login. */
  readonly version: string
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

  async verdict(presented: Presented): Promise<Verdict> {
    const verdict = await this.#judge(presented).catch((error): Verdict => {
      if (error instanceof RetryLater) return { is: 'unavailable' }
      throw error
    })
    this.#options.onVerdict?.(verdict.is)
    if (verdict.is === 'in' && verdict.admitted) this.#options.onUse?.(verdict.admitted.seen)
    return verdict
  }

  /**
   * Who is logged in by one of these ids of cookies.
   * @throws {RetryLater} when Redis does not answer
   */
  async visitor(loginIds: readonly string[]): Promise<Visitor | undefined> {
    return this.#visitors.present(await this.#visitors.claimed(loginIds))
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

  async #judge(presented: Presented): Promise<Verdict> {
    for (let look = 1; look <= mostLooks; look++) {
      if (!(await this.#areTablesFresh())) return { is: 'unavailable' }
      const route = this.#options.routes.get(presented.appId)
      if (route === 'unknown') return { is: 'unavailable' }
      const verdict = await this.#judgeFor(route, presented)
      // What was judged by another route says nothing about this one.
      if (this.#options.routes.get(presented.appId) === route) return verdict
    }
    return { is: 'unavailable' }
  }

  async #judgeFor(route: AppRoute | undefined, { login, session }: Presented): Promise<Verdict> {
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
  return { is: 'in', route, user, loginHash, sessionHash, newSessionId, admitted: { seen, visitor, version } }
}
