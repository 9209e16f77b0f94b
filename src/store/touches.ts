/** Signs of life of workloads from outside of checks: their use, and requests to keep them. */
import { labKind } from '../base/subject.ts'
import type { WorkloadKind } from '../config/idle.ts'
import type { Connection } from './connection.ts'
import { comparingLabs } from './due.ts'
import type { Touch, TouchAnswer } from './idle.ts'
import type { Keys } from './keys.ts'

/** A gateway reports its traffic every 5 s. One that has not for so long is behind, and after a longer time it is gone. */
export const gatewayBehindMs = 15_000
export const gatewayGoneMs = 600_000

/** A workload that is kept. Without its pod, a request for a new one would be lost with the record of the former one. */
interface Incarnation {
  readonly id: string
  readonly podUid: string
}

/** A gateway's statement beside its touches: it has seen no more until then. */
export interface Mark {
  /** Its name, unique among all that run. */
  readonly gateway: string
  /** By Redis' clock; undefined: until now. It is never believed beyond now. */
  readonly upToMs?: number | undefined
  /** It ends, and is not waited for. */
  readonly leaving?: boolean
}

export interface Touched {
  /** For each touch. */
  readonly answers: readonly TouchAnswer[]
  /** Redis' clock. */
  readonly nowMs: number
}

export class TouchStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * Notes that somebody used a workload.
   * @param source such as `push`
   * @throws {RetryLater} when the data of labs are not compared, or Redis does not answer
   */
  async touch(kind: WorkloadKind, touch: Touch, source: string): Promise<TouchAnswer> {
    const { answers } = await this.touchAll(kind, [touch], source)
    return answers[0]!
  }

  /**
   * As `touch`, for many by one script.
   * @param mark of a gateway: it has seen no more of this kind than these touches
   * @throws {RetryLater} as `touch`
   */
  async touchAll(kind: WorkloadKind, touches: readonly Touch[], source: string, mark?: Mark): Promise<Touched> {
    const { gateway = '', upToMs, leaving = false } = mark ?? {}
    const keys = touches.flatMap(({ id }) => this.#keysOf(kind, id))
    const args = touches.flatMap(({ podUid = '', ageMs }) => [podUid, Math.max(0, Math.floor(ageMs))])
    const upTo = upToMs === undefined ? '' : Math.floor(upToMs)
    const [is, now, ...answers] = (await this.#connection.run(
      'touch-activity',
      [this.#generationFor(kind), this.#keys.activityFlushed(kind), ...keys],
      identity => [identity, kind, source, gateway, leaving ? '1' : '', upTo, gatewayGoneMs, ...args],
    )) as [string, string, ...TouchAnswer[]]
    if (is === 'comparing') throw comparingLabs()
    return { answers, nowMs: Number(now) }
  }

  /**
   * Keeps an incarnation of a workload from being stopped for idleness, also before its first look.
   * @param latestMs the end of its greatest age, which no request reaches beyond; undefined: none
   * @returns `until`, or that it is stopping or not there
   * @throws {RetryLater} as `touch`
   */
  async keepAlive(
    kind: WorkloadKind,
    of: Incarnation,
    forMs: number,
    latestMs?: number,
  ): Promise<{ readonly untilMs: number } | Exclude<TouchAnswer, 'kept'>> {
    const [answer, until] = await this.#keep(kind, of, Math.max(1, Math.floor(forMs)), latestMs)
    return answer === 'kept' ? { untilMs: Number(until) } : answer
  }

  /**
   * Takes a keep-alive back.
   * @throws {RetryLater} as `touch`
   */
  async endKeepAlive(kind: WorkloadKind, of: Incarnation): Promise<TouchAnswer> {
    const [answer] = await this.#keep(kind, of, 0)
    return answer
  }

  async #keep(
    kind: WorkloadKind,
    { id, podUid }: Incarnation,
    forMs: number,
    latestMs?: number,
  ): Promise<[answer: TouchAnswer, until: string | undefined]> {
    const keys = [this.#keys.generation, ...this.#keysOf(kind, id)]
    const args = (identity: string) => [identity, kind, podUid, forMs, latestMs === undefined ? '' : latestMs]
    const [answer, until] = (await this.#connection.run('keep-activity', keys, args)) as [string, string?]
    if (answer === 'comparing') throw comparingLabs()
    return [answer as TouchAnswer, until]
  }

  #keysOf(kind: WorkloadKind, id: string): [activity: string, record: string] {
    const activity = this.#keys.activity(kind, id)
    return [activity, kind === labKind ? this.#keys.family(kind).record(id) : activity]
  }

  /** Only labs have records and a compare. A gateway has no right to these keys, and Redis judges every key that is named. */
  #generationFor(kind: WorkloadKind): string {
    return kind === labKind ? this.#keys.generation : this.#keys.activityFlushed(kind)
  }
}
