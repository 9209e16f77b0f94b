/** The processor time of workloads, as one replica measures it for all. */
import type { WorkloadKind } from '../config/idle.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

export interface Usage {
  readonly id: string
  /** The incarnation that was measured. */
  readonly podUid: string
  readonly millicores: number
  /** How long ago it was measured, in milliseconds. */
  readonly agoMs: number
}

/** How many were judged by their rules, and how many of them are busy. */
export interface Judged {
  readonly judged: number
  readonly busy: number
}

export class UsageStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * Judges each by the rule of its last check: one that uses more than the limit is active. All by one script.
   * @param limits millicores, by the name of the rule; those of other rules are left out
   * @throws {RetryLater} when Redis does not answer
   */
  async judge(kind: WorkloadKind, usages: readonly Usage[], limits: Readonly<Record<string, number>>): Promise<Judged> {
    const keys = usages.map(({ id }) => this.#keys.activity(kind, id))
    const args = usages.flatMap(({ podUid, millicores, agoMs }) => [
      podUid,
      Math.ceil(millicores),
      Math.max(0, Math.ceil(agoMs)),
    ])
    const answer = await this.#connection.run('judge-usage', keys, [JSON.stringify(limits), ...args])
    const [judged, busy] = answer as [number, number]
    return { judged, busy }
  }
}
