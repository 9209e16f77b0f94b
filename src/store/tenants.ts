/** The commands for the events of tenants. What they tell is kept by Kubernetes: here it may be lost. */
import type { Connection, Entry } from './connection.ts'
import { pairs } from './fields.ts'
import type { Family, Keys } from './keys.ts'
import type { EventStream, StreamRead } from './streams.ts'

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

/** What a replica sees of an LNamespace. */
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

export interface StoredEvent extends Told {
  readonly id: string
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
   * Adds the events that nobody has told yet.
   * @returns those
   * @throws {RetryLater} when Redis does not answer
   */
  async tell({ name, uid, generation, version, ready, grants }: Tell): Promise<readonly Told[]> {
    const keys = [this.#family.record(name), this.#family.events(name), this.#bell]
    const list = grants.map(({ id, user, untilMs, events }) => [id, user, untilMs, events])
    const number = /^\d{1,15}$/.test(version) ? version : '0'
    const args = [name, uid, generation, number, ready, JSON.stringify(list), keepMs, mostEvents]
    const flat = (await this.#connection.run('tell-tenant', keys, args)) as string[]
    return Array.from({ length: flat.length / 2 }, (_, i) => ({ event: flat[2 * i]!, data: flat[2 * i + 1]! }))
  }

  /** The stream of a tenant that exists, with a series for each generation; a follower goes on from one to the next. */
  stream(name: string, isThere: () => boolean): EventStream<StoredEvent> {
    return {
      subject: { kind: tenantSubject, name },
      read: async (series, afterSeq, limit = batch) => {
        if (!isThere()) return { found: false }
        return this.#read(name, series, afterSeq, limit)
      },
    }
  }

  async #read(
    name: string,
    series: number | undefined,
    afterSeq: number,
    limit: number,
  ): Promise<StreamRead<StoredEvent>> {
    const args = [series ?? '', afterSeq, limit]
    const [answer, ...rest] = (await this.#connection.run('read-series', [this.#family.events(name)], args)) as [string]
    const place = { found: true, ended: false } as const
    // Nothing was told yet.
    if (answer === 'none') return { ...place, series: series ?? 0, lastSeq: afterSeq, events: [] }
    const [lastSeries, lastSeq, entries] = rest as unknown as [number, number, Entry[]]
    const events = entries.map(eventOf)
    const last = events.at(-1)
    if (!last) return { ...place, series: lastSeries, lastSeq, events }
    const [of = 0, seq = 0] = last.id.split('-').map(Number)
    const more = of < lastSeries || seq < lastSeq
    return { ...place, series: of, lastSeq: seq, events, ...(more && { more }) }
  }
}

function eventOf([id, flat]: Entry): StoredEvent {
  const fields = pairs(flat)
  return { id, event: fields.get('event') ?? '', data: fields.get('data') ?? '' }
}
