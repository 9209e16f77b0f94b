/** Containers that have ended: how much is kept of them and of outputs, and what each of them cost. */
import { RetryLater } from '../../base/errors.ts'
import type { ContainerState } from '../../dispatch/container.ts'
import { costOf } from '../../dispatch/cost.ts'
import type { Connection } from '../connection.ts'
import { pairs } from '../fields.ts'
import type { Keys } from '../keys.ts'
import { parseShape } from './forms.ts'
import { comparing } from './machines.ts'

export interface EndedLimits {
  /** Since the end of a container. */
  readonly keepMs: number
  /** Ended containers. */
  readonly containers: number
  /** Of all outputs, and of the records of ended containers. Outputs of those that run or wait count, and are never dropped. */
  readonly bytes: number
}

/** A container that has ended, and its last run. */
export interface EndedRun {
  readonly uuid: string
  /** Its place among all: never less than that of one that ended before it. */
  readonly endedMs: number
  readonly tenant: string
  readonly instanceType: string
  readonly pricePerHour: number
  /** 0 if it never began. */
  readonly startedMs: number
  readonly finishedMs: number
  readonly cost: number
}

export class EndedStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys
  readonly #limits: EndedLimits

  constructor(connection: Pick<Connection, 'run'>, keys: Keys, limits: EndedLimits) {
    this.#connection = connection
    this.#keys = keys
    this.#limits = limits
  }

  /**
   * Drops what is beyond the limits, in parts: what is too old or one too many, then outputs, then containers, each from the one
   * that ended first. From here on each script that adds to what is kept drops as much.
   * @returns how many outputs and containers were dropped
   * @throws {RetryLater} while comparing
   */
  async dropExcess(): Promise<number> {
    const { keepMs, containers, bytes } = this.#limits
    const args = (identity: string) => [identity, keepMs, containers, bytes]
    for (let sum = 0; ; ) {
      const dropped = Number(await this.#connection.run('keep-ended', [this.#keys.dispatch.generation], args))
      if (dropped < 0) throw new RetryLater(comparing)
      if (dropped === 0) return sum
      sum += dropped
    }
  }

  /**
   * Those that are kept, in the order of their ends, from that time on.
   * @throws {RetryLater} while comparing, or when Redis does not answer
   */
  async from(endedMs: number, limit: number): Promise<readonly EndedRun[]> {
    const args = (identity: string) => [identity, endedMs, limit]
    const [answer, ...lines] = (await this.#connection.run('list-ended', [this.#keys.dispatch.generation], args)) as [
      string,
      ...string[][],
    ]
    if (answer !== 'listed') throw new RetryLater(comparing)
    return lines.map(parseEnded)
  }
}

function parseEnded([uuid = '', endedMs, ...flat]: readonly string[]): EndedRun {
  const fields = pairs(flat)
  const number = (name: string) => Number(fields.get(name) || 0)
  const [startedMs, finishedMs, pricePerHour] = [number('startedMs'), number('finishedMs'), number('pricePerHour')]
  const state = fields.get('state') as ContainerState
  return {
    ...{ uuid, endedMs: Number(endedMs), tenant: parseShape(fields.get('shape')).tenant },
    ...{ instanceType: fields.get('instanceType') ?? '', pricePerHour, startedMs, finishedMs },
    cost: costOf({ startedMs, finishedMs, pricePerHour, state }, finishedMs),
  }
}
