/** How much is kept of containers that have ended, and of outputs. */
import { RetryLater } from '../../base/errors.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { comparing } from './machines.ts'

export interface EndedLimits {
  /** Since the end of a container. */
  readonly keepMs: number
  /** Ended containers. */
  readonly containers: number
  /** Of all outputs, and of the records of ended containers. Outputs of what runs or waits count, and are never dropped. */
  readonly bytes: number
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
}
