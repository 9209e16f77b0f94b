/** Sessions: a login that has entered an app. Session, app, its UID and the login must agree. */
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { hashOf, newId } from './ids.ts'

export interface NewSession {
  readonly appId: string
  readonly appUid: string
  readonly loginHash: string
  /** The user of the login. */
  readonly user: string
  /** Without use; never beyond the login. */
  readonly lifeMs: number
  /** Id of one that ends as this one begins: who has the cookie of both has this one alone from then on. */
  readonly formerId?: string | undefined
}

/** The parts that must agree. */
export interface SessionClaim extends Omit<NewSession, 'lifeMs' | 'formerId'> {
  readonly sessionHash: string
}

export interface SessionFinding {
  /** `session`: only the session is void; `login`: the login is. */
  readonly is: 'in' | 'session' | 'login'
  /** The version of the login; another one means that its record has changed. */
  readonly version: string
}

/** Sessions by one script, which keeps Redis from everything else for some milliseconds. */
const batchSize = 100

export class SessionStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * @returns the id for the cookie; undefined if the login is void
   * @throws {RetryLater} when Redis does not answer
   */
  async create({ appId, appUid, loginHash, user, lifeMs, formerId }: NewSession): Promise<string | undefined> {
    const { apps } = this.#keys
    const id = newId()
    const session = apps.session(hashOf(id)!)
    const formerHash = formerId === undefined ? undefined : hashOf(formerId)
    const former = formerHash === undefined ? session : apps.session(formerHash)
    const keys = [session, apps.login(loginHash), apps.epoch, apps.revokedUser(user), former]
    const args = [appId, appUid, loginHash, user, Math.floor(lifeMs)]
    return (await this.#connection.run('create-session', keys, args)) === 'created' ? id : undefined
  }

  /**
   * @returns a finding for each, in the same order
   * @throws {RetryLater} when Redis does not answer
   */
  async check(claims: readonly SessionClaim[]): Promise<readonly SessionFinding[]> {
    const { apps } = this.#keys
    const findings: SessionFinding[] = []
    for (let at = 0; at < claims.length; at += batchSize) {
      const batch = claims.slice(at, at + batchSize)
      const keys = batch.flatMap(({ sessionHash, loginHash, user, appId }) => [
        ...[apps.session(sessionHash), apps.login(loginHash)],
        ...[apps.revokedUser(user), apps.revokedApp(appId), apps.revokedEntry(appId, user)],
      ])
      const args = batch.flatMap(({ appId, appUid, loginHash, user }) => [appId, appUid, loginHash, user])
      const flat = (await this.#connection.run('check-sessions', keys, args)) as string[]
      for (const i of batch.keys()) findings.push({ is: wordOf(flat[2 * i]), version: flat[2 * i + 1] ?? '' })
    }
    return findings
  }

  /**
   * Extends sessions that were used, each within its login.
   * @returns how many are still there
   * @throws {RetryLater} when Redis does not answer
   */
  async extend(sessions: readonly Pick<SessionClaim, 'sessionHash' | 'loginHash'>[], lifeMs: number): Promise<number> {
    const { apps } = this.#keys
    let there = 0
    for (let at = 0; at < sessions.length; at += batchSize) {
      const batch = sessions.slice(at, at + batchSize)
      const keys = batch.flatMap(({ sessionHash, loginHash }) => [apps.session(sessionHash), apps.login(loginHash)])
      there += Number(await this.#connection.run('extend-sessions', keys, [Math.floor(lifeMs)]))
    }
    return there
  }
}

/** An unknown word lets nobody in. */
const wordOf = (word: string | undefined): SessionFinding['is'] =>
  word === 'in' || word === 'session' ? word : 'login'
