/** Logins: who has logged in at a gateway. A login that Redis has lost is gone, and nobody gets in unasked. */
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { hashOf, newId } from './ids.ts'

/** The longest life that can be configured. */
export const longestLoginMs = 168 * 3_600_000
/** Logins of one user; beyond them the oldest end. */
const mostLogins = 50

export interface NewLogin {
  readonly user: string
  /** Names. */
  readonly groups: readonly string[]
  /** The number that `begin` returned before the identity source was asked. */
  readonly begun: number
  readonly lifeMs: number
  /** Seals tokens by the gateway's own key, for the login of this hash alone. Default: it keeps none. */
  readonly seal?: ((hash: string) => string) | undefined
}

export interface Login {
  readonly user: string
  readonly groups: readonly string[]
  readonly createdMs: number
  readonly expiresMs: number
  /** Counts changes of what is kept of it. */
  readonly version: string
  /** '': none. */
  readonly sealed: string
}

const time = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

const schema = z.object({
  user: z.string().min(1).max(1_024),
  groups: z
    .string()
    .transform(parseJson)
    .pipe(z.array(z.string().max(1_024)).max(10_000)),
  createdMs: time,
  expiresMs: time,
  version: z.string().regex(/^\d{1,15}$/),
  sealed: z.string(),
})

export class LoginStore {
  readonly #connection: Pick<Connection, 'run' | 'read'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run' | 'read'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * To be called before the identity source is asked. A user who is revoked afterwards does not get in.
   * @throws {RetryLater} when Redis does not answer
   */
  async begin(): Promise<number> {
    const epoch = await this.#connection.read('get', redis => redis.get(this.#keys.apps.epoch))
    const number = Number(epoch ?? 0)
    return Number.isSafeInteger(number) ? number : 0
  }

  /**
   * @returns the id for the cookie; 'revoked' if the user was revoked since `begin`
   * @throws {RetryLater} when Redis does not answer
   */
  async create({ user, groups, begun, lifeMs, seal }: NewLogin): Promise<{ readonly id: string } | 'revoked'> {
    const { apps } = this.#keys
    const id = newId()
    const hash = hashOf(id)!
    const keys = [apps.login(hash), apps.loginsOf(user), apps.epoch, apps.revokedUser(user)]
    const args = [hash, begun, Math.floor(lifeMs), mostLogins, user, JSON.stringify(groups), seal?.(hash) ?? '']
    const [is, , ...oldest] = (await this.#connection.run('create-login', keys, args)) as string[]
    if (is === 'revoked') return is
    for (const each of oldest) await this.#remove(each, user)
    return { id }
  }

  /**
   * @returns undefined for none, and for one that cannot be read
   * @throws {RetryLater} when Redis does not answer
   */
  async read(hash: string): Promise<Login | undefined> {
    const fields = await this.#connection.read('hgetall', redis => redis.hgetall(this.#keys.apps.login(hash)))
    return schema.safeParse(fields).data
  }

  /**
   * Ends it at once, everywhere.
   * @throws {RetryLater} when Redis does not answer
   */
  async remove(hash: string): Promise<boolean> {
    const login = await this.read(hash)
    return this.#remove(hash, login?.user ?? '')
  }

  async #remove(hash: string, user: string): Promise<boolean> {
    const { apps } = this.#keys
    const keys = [apps.login(hash), apps.loginsOf(user), apps.bell]
    return (await this.#connection.run('remove-login', keys, [hash])) === 1
  }
}
