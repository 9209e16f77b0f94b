/** The commands for the events of tenants. Kubernetes keeps the facts behind them: here they may be lost. */

import type { Connection } from './connection.ts'
import type { Family } from './family.ts'
import type { Keys } from './keys.ts'
import { pairsOf } from './pairs.ts'
import { type StoredEvent, streamRead } from './series.ts'
import type { EventStream } from './streams.ts'

/** The kind of subjects by which the rings of tenants are known. */
export const tenantSubject = 'tenant'

/** How long events stay after the last change, or the start of a replica. */
const keepMs = 86_400_000
/** About so many events of a tenant are kept. */
const mostEvents = 256
const batch = 32

/** A grant with its events so far: [rank, event, data], in order. */
export interface TellGrant {
  readonly id: string
  readonly user: string
  readonly untilMs: number
  readonly events: readonly (readonly [rank: number, event: string, data: string])[]
}

/** A replica's view of an LNamespace. */
export interface Tell {
  readonly name: string
  readonly uid: string
  readonly generation: number
  /** The resourceVersion; that of a stale replica is lower. */
  readonly version: string
  /** Data of the event that tells whether it is ready; '' if that is not known. */
  readonly ready: string
  readonly grants: readonly TellGrant[]
}

export interface Told {
  readonly event: string
  readonly data: string
}

export class TenantStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #family: Family
  readonly #bell: string

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#family = keys.family(tenantSubject)
    this.#bell = keys.bell
  }

  /**
   * Adds the events that are not in the stream yet.
   * @returns the added ones
   * @throws {RetryLater} when Redis does not answer
   */
  async tell({ name, uid, generation, version, ready, grants }: Tell): Promise<readonly Told[]> {
    const keys = [this.#family.record(name), this.#family.events(name), this.#bell]
    const list = grants.map(({ id, user, untilMs, events }) => [id, user, untilMs, events])
    const number = /^\d{1,15}$/.test(version) ? version : '0'
    const args = [name, uid, generation, number, ready, JSON.stringify(list), keepMs, mostEvents]
    const flat = (await this.#connection.run('tell-tenant', keys, args)) as string[]
    return pairsOf(flat).map(([event, data]) => ({ event, data }))
  }

  /**
   * The stream of a tenant that exists, with a series for each generation; a follower goes on from one to the next.
   * @param uid of the LNamespace about which `isThere` asks; undefined: there is none
   */
  stream(name: string, uid: string | undefined, isThere: () => boolean): EventStream<StoredEvent> {
    return {
      subject: { kind: tenantSubject, name },
      incarnation: uid,
      read: async (series, afterSeq, limit = batch) => {
        if (uid === undefined || !isThere()) return { found: false }
        const keys = [this.#family.record(name), this.#family.events(name)]
        const said = await this.#connection.run('read-tenant', keys, [uid, series ?? '', afterSeq, limit])
        return streamRead(said, series, afterSeq)
      },
    }
  }
}
