/** When each workload is checked, and by which replica: a taken one has a new score, which is the token of its taker. */
import { RetryLater } from '../base/errors.ts'
import { labKind } from '../base/subject.ts'
import type { WorkloadKind } from '../config/idle.ts'
import type { Connection } from './connection.ts'
import { type Lane, type Taken, type TakenNow, type WorkloadState, workloadStates } from './idle.ts'
import type { Keys } from './keys.ts'

/** How long a taker has for a check; after that anybody takes the workload again. */
export const takeMs = 20_000

export interface TakeOptions {
  readonly limit: number
  /** A later check was written by another clock, and counts as due. More than any period between checks. */
  readonly farthestMs: number
  /** Default: `takeMs`. */
  readonly takeMs?: number
}

/** How many workloads of a kind there are. One that was not checked yet is in a lane, and in no state. */
export interface WorkloadCensus {
  readonly states: Readonly<Record<WorkloadState, number>>
  readonly lanes: Readonly<Record<Lane, number>>
}

/** Thrown by what judges labs by their records. */
export const comparingLabs = () => new RetryLater('the records are being compared with the cluster')

type TakeAnswer = [now: string, nextInUs: string, taken: string[]]

export class DueStore {
  readonly #connection: Pick<Connection, 'run' | 'read'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run' | 'read'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * Makes the labs that are checked agree with those that run. Newcomers are spread over the period.
   * @throws {RetryLater} when the data are not compared, or Redis does not answer
   */
  async musterLabs(periodMs: number): Promise<{ readonly added: number; readonly removed: number }> {
    const k = this.#keys
    const keys = [k.generation, k.index, k.due(labKind), k.dueSlow(labKind), k.activityStates(labKind)]
    const seed = Math.random()
    const answer = await this.#connection.run('muster-due', keys, identity => [identity, periodMs, seed])
    const [is, added, removed] = answer as [string, number, number]
    if (is === 'comparing') throw comparingLabs()
    return { added, removed }
  }

  /**
   * Adds workloads that are not checked yet, spread over the period. Those that are there keep their time.
   * @returns how many were added
   * @throws {RetryLater} when Redis does not answer
   */
  async enrol(kind: WorkloadKind, ids: readonly string[], periodMs: number): Promise<number> {
    if (ids.length === 0) return 0
    const args = [periodMs, Math.random(), ...ids]
    return (await this.#connection.run('enrol-due', this.#lanes(kind), args)) as number
  }

  /**
   * Ends the checks of a workload that is gone or stopped. If its stop was requested, it counts as stopped from here on,
   * and that is reported unless it was.
   * @throws {RetryLater} when Redis does not answer
   */
  async dismiss(kind: WorkloadKind, id: string): Promise<void> {
    const k = this.#keys
    const keys = [
      ...[...this.#lanes(kind), k.activityStates(kind), k.activity(kind, id)],
      ...[k.activityFloor, k.activityEvents, k.bell],
    ]
    await this.#connection.run('dismiss-due', keys, [kind, id])
  }

  /**
   * Takes workloads that are due, the longest due first.
   * @throws {RetryLater} when Redis does not answer
   */
  async take(kind: WorkloadKind, lane: Lane, options: TakeOptions): Promise<TakenNow> {
    const key = lane === 'fast' ? this.#keys.due(kind) : this.#keys.dueSlow(kind)
    const args = [options.takeMs ?? takeMs, options.limit, options.farthestMs]
    const [now, nextInUs, flat] = (await this.#connection.run('take-due', [key], args)) as TakeAnswer
    const taken = Array.from({ length: flat.length / 3 }, (_, i): Taken => {
      const [id, score, lateMs] = flat.slice(3 * i, 3 * i + 3)
      return { id: id!, score: score!, lateMs: Number(lateMs) }
    })
    const nextInMs = nextInUs === '' ? undefined : Math.ceil(Number(nextInUs) / 1000)
    return { taken, nextInMs, nowMs: Number(now) }
  }

  /**
   * All ids that are checked, sorted.
   * @throws {RetryLater} when Redis does not answer
   */
  async ids(kind: WorkloadKind): Promise<readonly string[]> {
    const lists = await Promise.all(
      this.#lanes(kind).map(key => this.#connection.read('zrange', redis => redis.zrange(key, '0', '-1'))),
    )
    // A workload may have changed its lane between the two reads.
    return [...new Set(lists.flat())].sort()
  }

  /**
   * Counts workloads by what their last check found, and by the lane of their next one.
   * @throws {RetryLater} when Redis does not answer
   */
  async census(kind: WorkloadKind): Promise<WorkloadCensus> {
    const keys = [this.#keys.activityStates(kind), ...this.#lanes(kind)]
    const counts = (await this.#connection.run('count-workloads', keys, [workloadStates.length])) as number[]
    const [active = 0, idle = 0, warned = 0, unknown = 0, fast = 0, slow = 0] = counts
    return { states: { active, idle, warned, unknown }, lanes: { fast, slow } }
  }

  #lanes(kind: WorkloadKind): [due: string, slow: string] {
    return [this.#keys.due(kind), this.#keys.dueSlow(kind)]
  }
}
