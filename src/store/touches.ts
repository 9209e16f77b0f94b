/** Signs of life of workloads from outside of checks: their use, and requests to keep them. */
import type { WorkloadKind } from '../config/idle.ts'
import type { Connection } from './connection.ts'
import { comparingLabs } from './due.ts'
import type { Touch, TouchAnswer } from './idle.ts'
import type { Keys } from './keys.ts'

/** Those of a gateway. */
const bySource = 'traffic'

interface Flush {
  readonly source: string
  readonly gateway: string
  readonly leaving: boolean
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
    const [answer] = await this.#send(kind, [touch], { source, gateway: '', leaving: false })
    return answer!
  }

  /**
   * As `touch`, for all that a gateway saw, even if that is nothing: it says that it has seen no more until now.
   * @param leaving the gateway ends, and is not waited for
   * @returns an answer for each touch
   * @throws {RetryLater} as `touch`
   */
  async flush(
    kind: WorkloadKind,
    gateway: string,
    touches: readonly Touch[],
    leaving = false,
  ): Promise<readonly TouchAnswer[]> {
    return this.#send(kind, touches, { source: bySource, gateway, leaving })
  }

  /**
   * Keeps a workload from being stopped for idleness.
   * @param latestMs the end of its greatest age, which no request reaches beyond; undefined: none
   * @returns `until`, or that it is stopping or not there
   * @throws {RetryLater} as `touch`
   */
  async keepAlive(
    kind: WorkloadKind,
    of: Omit<Touch, 'ageMs'>,
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
  async endKeepAlive(kind: WorkloadKind, of: Omit<Touch, 'ageMs'>): Promise<TouchAnswer> {
    const [answer] = await this.#keep(kind, of, 0)
    return answer
  }

  async #keep(
    kind: WorkloadKind,
    { id, podUid = '' }: Omit<Touch, 'ageMs'>,
    forMs: number,
    latestMs?: number,
  ): Promise<[answer: TouchAnswer, until: string | undefined]> {
    const keys = [this.#keys.generation, ...this.#keysOf(kind, id)]
    const args = (identity: string) => [identity, kind, podUid, forMs, latestMs === undefined ? '' : latestMs]
    const [answer, until] = (await this.#connection.run('keep-activity', keys, args)) as [string, string?]
    if (answer === 'comparing') throw comparingLabs()
    return [answer as TouchAnswer, until]
  }

  async #send(
    kind: WorkloadKind,
    touches: readonly Touch[],
    { source, gateway, leaving }: Flush,
  ): Promise<TouchAnswer[]> {
    const keys = touches.flatMap(({ id }) => this.#keysOf(kind, id))
    const args = touches.flatMap(({ podUid = '', ageMs }) => [podUid, Math.max(0, Math.floor(ageMs))])
    const [is, ...answers] = (await this.#connection.run(
      'touch-activity',
      [this.#keys.generation, this.#keys.activityFlushed, ...keys],
      identity => [identity, kind, source, gateway, leaving ? '1' : '', ...args],
    )) as [string, ...TouchAnswer[]]
    if (is === 'comparing') throw comparingLabs()
    return answers
  }

  #keysOf(kind: WorkloadKind, id: string): [activity: string, record: string] {
    return [this.#keys.activity(kind, id), this.#keys.family(kind).record(id)]
  }
}
