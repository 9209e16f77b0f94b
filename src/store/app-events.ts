/** The commands for the events of apps. Kubernetes keeps the facts behind them: here they may be lost. */
import type { Connection } from './connection.ts'
import type { Family } from './family.ts'
import type { Keys } from './keys.ts'
import { readSeries, type StoredEvent } from './series.ts'
import type { EventStream } from './streams.ts'

/** The kind of subjects by which the rings of apps are known. Their names are UIDs. */
export const appSubject = 'app'

/** How long events stay after the last change, or the start of a replica. */
const keepMs = 7 * 86_400_000
export const mostEvents = 200
/** Kubernetes keeps an event for an hour. An app has fewer in this time, or some are added twice. */
const mostTold = 1_000
const batch = 32

/** A replica's view of an app. */
export interface AppTell {
  readonly uid: string
  /** The resourceVersion; that of a stale replica is lower. */
  readonly version: string
  /** Data of the event `phase`; '' if it has none yet. */
  readonly phase: string
  /** The events, in order. The event of a key is added once. */
  readonly events: readonly (readonly [key: string, event: string, data: string])[]
}

export class AppEventStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys
  readonly #family: Family
  readonly #bell: string

  /** @param bell the key of the bell that the streams' followers hear */
  constructor(connection: Pick<Connection, 'run'>, keys: Keys, bell: string) {
    this.#connection = connection
    this.#keys = keys
    this.#family = keys.family(appSubject)
    this.#bell = bell
  }

  /** Adds the events that are not in the stream yet. @throws {RetryLater} when Redis does not answer */
  async tell({ uid, version, phase, events }: AppTell): Promise<void> {
    const keys = [this.#family.record(uid), this.#keys.appTold(uid), this.#family.events(uid), this.#bell]
    const number = /^\d{1,15}$/.test(version) ? version : '0'
    await this.#connection.run('tell-app', keys, [
      ...[uid, number, phase, JSON.stringify(events)],
      ...[keepMs, mostEvents, mostTold],
    ])
  }

  /** The stream of an app that exists. */
  stream(uid: string, isThere: () => boolean): EventStream<StoredEvent> {
    return {
      subject: { kind: appSubject, name: uid },
      read: async (series, afterSeq, limit = batch) => {
        if (!isThere()) return { found: false }
        return readSeries(this.#connection, this.#family.events(uid), series, afterSeq, limit)
      },
    }
  }
}
