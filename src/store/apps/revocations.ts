/** Revocations: a user, an app, or a user in an app. Older logins and sessions are void at once; a user who may can log in again. */
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { longestLoginMs } from './logins.ts'

/** At least one of them. Both: the sessions of this user in this app. */
export interface Revocation {
  readonly user?: string | undefined
  readonly appId?: string | undefined
}

export class RevocationStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * A login that has begun is void too. A logout is `LoginStore.remove`.
   * @throws {RetryLater} when Redis does not answer
   */
  async revoke({ user, appId }: Revocation): Promise<void> {
    const { apps } = this.#keys
    const revoked =
      user === undefined
        ? appId !== undefined && apps.revokedApp(appId)
        : appId === undefined
          ? apps.revokedUser(user)
          : apps.revokedEntry(appId, user)
    if (revoked === false) throw new Error('a revocation of nothing')
    const about = user === undefined ? `app:${appId}` : `user:${user}`
    await this.#connection.run('revoke-entries', [apps.epoch, revoked, apps.bell], [about, longestLoginMs])
  }
}
