/** How visitors enter an app: by a session that agrees with app and login, or by a new one. */
import type { AppRoute } from '../../base/app-route.ts'
import { all, andThen, type Soon } from '../../base/soon.ts'
import { hashOf } from '../../store/apps/ids.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import { type CheckFinding, type KeyedClaim, keyOf, type Seen, type SessionChecks } from './checks.ts'
import { Kept } from './kept.ts'
import { hashesOf, type Visitor } from './visitors.ts'

export interface Entrance {
  readonly visitor: Visitor
  /** The version of the login. */
  readonly version: string
  /** Absent: the login holds, and needs a session. */
  readonly seen?: Seen | undefined
  readonly newSessionId?: string | undefined
}

export interface EntrancesOptions {
  readonly sessions: Pick<SessionStore, 'create'>
  readonly checks: Pick<SessionChecks, 'check'>
  readonly sessionMs: number
}

/** Sessions that this replica has made. */
const mostMade = 10_000
/** Sessions that visitors bring: each does so with all that it asks for. */
const mostBrought = 10_000
/** No session has this hash. */
const noSession = '0'.repeat(64)

export class Entrances {
  readonly #options: EntrancesOptions
  /**
   * Sessions that were made, by login and UID. A client that keeps no cookies, or sends many requests before it has one,
   * gets the same again: it must not fill Redis.
   */
  readonly #made = new Kept<Made>(mostMade)
  readonly #making = new Map<string, Promise<Made | undefined>>()
  /** By the hash of the session. */
  readonly #brought = new Kept<Brought>(mostBrought)

  constructor(options: EntrancesOptions) {
    this.#options = options
  }

  /**
   * The first session that holds; else the first login that does.
   * @throws {RetryLater} when Redis does not answer
   */
  find(route: AppRoute, visitors: readonly Visitor[], sessionIds: readonly string[]): Soon<Entrance | undefined> {
    const tries = this.#triesOf(route, visitors, hashesOf(sessionIds))
    const { checks } = this.#options
    const findings = all(tries.map(({ brought }) => checks.check(brought.claim)))
    return andThen(findings, found => bestOf(tries, found))
  }

  /**
   * By a session that holds, and else not at all: this visitor has shown no login.
   * @throws {RetryLater} when Redis does not answer
   */
  again(route: AppRoute, visitor: Visitor, sessionId: string): Soon<Entrance | undefined> {
    const [hash] = hashesOf([sessionId])
    if (hash === undefined) return undefined
    return andThen(this.#options.checks.check(this.#bring(route, visitor, hash).claim), finding =>
      finding.is === 'in' ? { visitor, version: finding.version, seen: finding.seen } : undefined,
    )
  }

  #triesOf(route: AppRoute, visitors: readonly Visitor[], presented: readonly string[]): readonly Tried[] {
    const tries: Tried[] = []
    for (const visitor of visitors) {
      const own = presented.length > 0 ? presented : [noSession]
      const before = tries.length
      for (const hash of own) tries.push({ brought: this.#bring(route, visitor, hash), newSessionId: undefined })
      const made = this.#made.get(tries[before]!.brought.loginKey)
      // Mostly the visitor presents it: it is one try then, and needs no new cookie.
      if (!made || presented.includes(made.hash)) continue
      if (presented.length === 0) tries.pop()
      tries.push({ brought: this.#bring(route, visitor, made.hash), newSessionId: made.id })
    }
    return tries
  }

  /** Neither a route nor a visitor ever changes: there is another one then. */
  #bring(route: AppRoute, visitor: Visitor, hash: string): Brought {
    const known = this.#brought.get(hash)
    if (known?.route === route && known.visitor === visitor) return known
    const claim = claimOf(route, visitor, hash)
    const brought = { route, visitor, claim: { ...claim, key: keyOf(claim) }, loginKey: loginKeyOf(route, visitor) }
    this.#brought.set(hash, brought)
    return brought
  }

  /**
   * Makes a session.
   * @returns undefined if the login is void by now
   * @throws {RetryLater} when Redis does not answer
   */
  async enter(route: AppRoute, visitor: Visitor): Promise<Entrance | undefined> {
    // Another request may have made one while this one was looked for.
    const known = this.#made.get(loginKeyOf(route, visitor))
    const entrance = known === undefined ? undefined : await this.#checked(route, visitor, known)
    if (entrance) return entrance
    const made = await this.#make(route, visitor)
    return made === undefined ? undefined : this.#checked(route, visitor, made)
  }

  async #checked(route: AppRoute, visitor: Visitor, { id, hash }: Made): Promise<Entrance | undefined> {
    // A ring may have come meanwhile: only checks know which answer is older.
    const finding = await this.#options.checks.check(claimOf(route, visitor, hash))
    if (finding.is !== 'in') return undefined
    return { visitor, version: finding.version, seen: finding.seen, newSessionId: id }
  }

  #make(route: AppRoute, visitor: Visitor): Promise<Made | undefined> {
    const key = loginKeyOf(route, visitor)
    const made = this.#making.get(key) ?? this.#create(key, route, visitor)
    this.#making.set(key, made)
    return made
  }

  async #create(key: string, { id, uid }: AppRoute, { loginHash, user }: Visitor): Promise<Made | undefined> {
    const { sessions, sessionMs } = this.#options
    try {
      const newId = await sessions.create({ appId: id, appUid: uid, loginHash, user, lifeMs: sessionMs })
      if (newId === undefined) return undefined
      const made = { id: newId, hash: hashOf(newId)! }
      this.#made.set(key, made)
      return made
    } finally {
      this.#making.delete(key)
    }
  }
}

/** A session that this replica has made. */
interface Made {
  /** For the cookie. */
  readonly id: string
  readonly hash: string
}

/** A visitor's claim to an app: made once, for texts that are compared with each request. */
interface Brought {
  readonly route: AppRoute
  readonly visitor: Visitor
  readonly claim: KeyedClaim
  /** By `loginKeyOf`. */
  readonly loginKey: string
}

/** A session that may let somebody in. */
interface Tried {
  readonly brought: Brought
  readonly newSessionId: string | undefined
}

/** @param findings of each try, in the same order */
function bestOf(tries: readonly Tried[], findings: readonly CheckFinding[]): Entrance | undefined {
  for (const [i, finding] of findings.entries()) {
    const { brought, newSessionId } = tries[i]!
    const { visitor } = brought
    if (finding.is === 'in') return { visitor, version: finding.version, seen: finding.seen, newSessionId }
  }
  const entitled = findings.findIndex(({ is }) => is === 'session')
  return entitled < 0 ? undefined : { visitor: tries[entitled]!.brought.visitor, version: findings[entitled]!.version }
}

const loginKeyOf = ({ id, uid }: AppRoute, { loginHash }: Visitor) => `${loginHash} ${uid} ${id}`

const claimOf = ({ id, uid }: AppRoute, { loginHash, user }: Visitor, sessionHash: string) => ({
  appId: id,
  appUid: uid,
  loginHash,
  user,
  sessionHash,
})
