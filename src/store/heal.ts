/** For `skylab heal`: finds and removes numbers in Redis from a counter that ran ahead. */
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** The numbers of one user in Redis; 0 for a missing one. */
export interface UserOps {
  readonly user: string
  readonly record: number
  readonly stream: number
  readonly tombstone: number
  readonly waiting: number
  /** The record's field; '' if unknown. */
  readonly namespaceUid: string
}

export interface Survey {
  readonly lastOp: number
  /** Redis' clock */
  readonly nowMs: number
  readonly users: readonly UserOps[]
}

export class HealStore {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  async survey(): Promise<Survey> {
    const k = this.#keys
    const last = await this.#connection.read('get', redis => redis.get(k.last))
    const [seconds] = await this.#connection.read('time', redis => redis.time())
    const users: UserOps[] = []
    for (const user of await this.#users()) {
      const keys = [k.record(user), k.events(user), k.tombstone(user), k.waiting]
      const answer = (await this.#connection.run('survey-user', keys, [user])) as string[]
      const [record, stream, tombstone, waiting] = answer.map(Number)
      const ops = { record: record!, stream: stream!, tombstone: tombstone!, waiting: waiting! }
      users.push({ user, ...ops, namespaceUid: answer[4]! })
    }
    return { lastOp: Number(last ?? 0), nowMs: Number(seconds) * 1000, users }
  }

  /** @returns the names of removed parts: record, waiting, tombstone, stream */
  async healUser(user: string): Promise<string[]> {
    const k = this.#keys
    const ofUser = [k.record(user), k.events(user), k.tombstone(user)]
    const keys = [...ofUser, k.waiting, k.owned, k.deadlines, k.index]
    return (await this.#connection.run('heal-user', keys, [user])) as string[]
  }

  /** Resets the counter, and causes a new compare of all records. @returns the new value of the counter */
  async healCounter(trustedOp: number): Promise<number> {
    const k = this.#keys
    const keys = [k.last, k.hold, k.generation, k.doubt, k.mark]
    return Number(await this.#connection.run('heal-counter', keys, [trustedOp]))
  }

  /** All users with any key in Redis, with or without a lab. */
  async #users(): Promise<string[]> {
    const k = this.#keys
    const users = new Set<string>()
    for (const set of [k.index, k.waiting]) {
      for (const user of await this.#connection.read('zrange', redis => redis.zrange(set, '0', '-1'))) users.add(user)
    }
    for (const keyOf of [k.record, k.events, k.tombstone]) {
      const prefix = keyOf.call(k, '')
      // A prefix may have characters with a meaning in patterns.
      const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
      let cursor = '0'
      do {
        const at = cursor
        const [next, found] = await this.#connection.read('scan', redis =>
          redis.scan(at, 'MATCH', pattern, 'COUNT', 1000),
        )
        for (const key of found) users.add(key.slice(prefix.length))
        cursor = next
      } while (cursor !== '0')
    }
    return [...users].sort()
  }
}
