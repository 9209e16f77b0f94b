/** Leases of tasks, which belong to no user: each by its key, as a value that its holder knows. */
import type { Connection } from './connection.ts'

export class TaskStore {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Has a lease last for so long from now on, if it is held by this token still. */
  async renew(key: string, token: string, ttlMs: number): Promise<void> {
    await this.#connection.run('renew-lease', [key], [token, ttlMs])
  }

  /** Frees a lease where its holder's death would keep it for as long as Redis' clock stepped back. */
  async free(key: string, ttlMs: number): Promise<void> {
    await this.#connection.run('free-overlong', [key], [ttlMs])
  }

  async giveBack(key: string, token: string): Promise<void> {
    await this.#connection.run('return-lease', [key], [token])
  }
}
