/** Finds the person of a login. Its user and groups are read once; each check of Redis says whether they still hold. */
import { remembered } from '../../base/remembered.ts'
import { all, andThen, type Soon } from '../../base/soon.ts'
import { hashOf } from '../../store/apps/ids.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { Person } from '../../store/apps/members.ts'
import type { SessionChecks } from './checks.ts'
import { Kept } from './kept.ts'
import type { Strangers } from './strangers.ts'

const mostKept = 10_000
/** Cookies of one request that are tried; a neighbour's script may have set others. */
export const mostTried = 4

export interface Visitor extends Person {
  readonly loginHash: string
}

interface Facts extends Visitor {
  readonly version: string
}

/** No session has this hash. */
const noSession = '0'.repeat(64)

export class Visitors {
  readonly #logins: Pick<LoginStore, 'read'>
  readonly #checks: Pick<SessionChecks, 'check'>
  readonly #strangers: Strangers
  readonly #known = new Kept<Facts>(mostKept)

  constructor(logins: Pick<LoginStore, 'read'>, checks: Pick<SessionChecks, 'check'>, strangers: Strangers) {
    this.#logins = logins
    this.#checks = checks
    this.#strangers = strangers
  }

  /**
   * The visitors whose logins these ids of cookies name. Whether the logins still hold is not checked.
   * @param address of the client that presents them
   * @throws {RetryLater} when Redis does not answer
   * @throws {ApiError} 429 where too many wait that are not known
   */
  claimed(loginIds: readonly string[], address: string): Soon<readonly Visitor[]> {
    const found = all(hashesOf(loginIds).map(hash => this.named(hash, address)))
    return andThen(found, facts => facts.filter(each => each !== undefined))
  }

  /**
   * The visitor whose login has this hash, without a proof that he has its id. The rest is as for `claimed`.
   * @throws as `claimed`
   */
  named(hash: string, address: string): Soon<Visitor | undefined> {
    return this.#known.get(hash) ?? this.#meet(hash, address)
  }

  /**
   * The first of these visitors whose login holds.
   * @throws {RetryLater} when Redis does not answer
   */
  async present(visitors: readonly Visitor[]): Promise<Visitor | undefined> {
    for (const visitor of visitors) {
      const claim = { appId: '', appUid: '', sessionHash: noSession, loginHash: visitor.loginHash, user: visitor.user }
      const { is, version } = await this.#checks.check(claim)
      const current = is !== 'login' && (await this.current(visitor.loginHash, version))
      if (current) return current
    }
    return undefined
  }

  /** A login of this version, as a check has found it. Another version is read anew. */
  current(hash: string, version: string): Soon<Visitor | undefined> {
    return andThen(this.#read(hash), known => {
      if (known?.version === version) return known
      this.#known.delete(hash)
      return this.#read(hash)
    })
  }

  /** A login that is void. */
  forget(hash: string): void {
    this.#known.delete(hash)
  }

  /** Reads a login that is not known yet. */
  #meet(hash: string, address: string): Soon<Facts | undefined> {
    if (this.#strangers.isStrange(hash)) return undefined
    return this.#strangers.ask(hash, address, () => this.#ask(hash))
  }

  #read(hash: string): Soon<Facts | undefined> {
    return this.#known.get(hash) ?? this.#ask(hash)
  }

  async #ask(hash: string): Promise<Facts | undefined> {
    const login = await this.#logins.read(hash)
    if (!login) return undefined
    const { user, groups, version } = login
    const facts = { user, groups, version, loginHash: hash }
    this.#known.set(hash, facts)
    return facts
  }
}

/** Hashes of those that are ids; only the first few are tried. */
export const hashesOf = (ids: readonly string[]): string[] =>
  ids
    .slice(0, mostTried)
    .map(knownHash)
    .filter(hash => hash !== '')

/** Each request has two ids, and a visitor sends the same ones all the time. '': it is no id. */
const knownHash = remembered(id => hashOf(id) ?? '')
