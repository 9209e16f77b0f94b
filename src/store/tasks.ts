/** Leases of tasks, which belong to no user. Each is a key whose value is the holder's token. */
import type { Connection } from './connection.ts'

export class TaskStore {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Extends a lease to `ttlMs` from now, if this token still holds it. @returns whether it does */
  async renew(key: string, token: string, ttlMs: number): Promise<boolean> {
    return (await this.#connection.run('renew-lease', [key], [token, ttlMs])) === 1
  }

  /** Frees a lease that lasts too long because Redis' clock stepped back: its holder may have died. */
  async free(key: string, ttlMs: number): Promise<void> {
    await this.#connection.run('free-overlong', [key], [ttlMs])
  }

  async giveBack(key: string, token: string): Promise<void> {
    await this.#connection.run('return-lease', [key], [token])
  }
}
