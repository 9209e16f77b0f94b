/** The records of prepulling in Redis: nodes onto which images were pulled, and failures. One replica writes them. */

import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { pairsOf } from './pairs.ts'

/** An image that could not be pulled. */
export interface PullFailure {
  /** Consecutive failures. */
  readonly attempts: number
  /** Time of the next attempt, by Redis' clock. */
  readonly nextMs: number
  /** The reason. */
  readonly error: string
  /** UIDs of the nodes that failed; other nodes need not wait. */
  readonly nodes: readonly string[]
  /** UID of the DaemonSet that failed, so that it counts once. */
  readonly set: string
}

/** Records by image, with the key of `imageKey`. */
export interface PrepullRecords {
  /** UIDs of the nodes onto which an image was pulled, and whether each has listed it since. */
  readonly prepulled: ReadonlyMap<string, ReadonlyMap<string, boolean>>
  readonly failures: ReadonlyMap<string, PullFailure>
}

export interface PrepullReading {
  /** True if the given token holds the lease. */
  readonly held: boolean
  /** Redis' clock. */
  readonly nowMs: number
  readonly records: PrepullRecords
}

type ReadAnswer = [held: number, now: string, prepulled: string[], failures: string[]]

export class PrepullStore {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /** Key of the lease of prepulling, which belongs to no user. */
  get lease(): string {
    return this.#keys.prepullLease
  }

  /**
   * Reads all records.
   * @param token of the lease, only for a writer
   * @throws {RetryLater} when Redis does not answer
   */
  async read(token = ''): Promise<PrepullReading> {
    const answer = (await this.#connection.run('read-prepulls', this.#all(), [token])) as ReadAnswer
    const [held, now, prepulled, failures] = answer
    return {
      held: held === 1,
      nowMs: Number(now),
      records: {
        prepulled: mapOf(prepulled, readNodes),
        failures: mapOf(failures, text => JSON.parse(text) as PullFailure),
      },
    }
  }

  /**
   * Writes the differences between two states of the records, if any.
   * @returns false if this token no longer holds the lease, so that nothing was written
   * @throws {RetryLater} when Redis does not answer
   */
  async write(token: string, before: PrepullRecords, after: PrepullRecords): Promise<boolean> {
    const prepulled = changes(before.prepulled, after.prepulled, writeNodes)
    const failures = changes(before.failures, after.failures, writeFailure)
    if (Object.keys({ ...prepulled, ...failures }).length === 0) return true
    const args = [token, JSON.stringify(prepulled), JSON.stringify(failures)]
    return (await this.#connection.run('write-prepulls', this.#all(), args)) === 1
  }

  #all(): string[] {
    return [this.#keys.prepullLease, this.#keys.prepulled, this.#keys.prepullFailures]
  }
}

function mapOf<T>(flat: readonly string[], read: (text: string) => T): Map<string, T> {
  return new Map(pairsOf(flat).map(([name, text]) => [name, read(text)]))
}

/** Messages that were cut elsewhere may end in half a character. */
const writeFailure = (failure: PullFailure) => JSON.stringify({ ...failure, error: failure.error.toWellFormed() })

/** UIDs; a plus sign follows those of nodes that have listed the image since. */
const writeNodes = (nodes: ReadonlyMap<string, boolean>) =>
  [...nodes]
    .map(([uid, listed]) => (listed ? `${uid}+` : uid))
    .sort()
    .join(' ')

const readNodes = (text: string) =>
  new Map(text.split(' ').map((word): [string, boolean] => [word.replace(/\+$/, ''), word.endsWith('+')]))

/** Changed texts by image; empty ones are removed. */
function changes<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  textOf: (value: T) => string,
): Record<string, string> {
  const texts = (map: ReadonlyMap<string, T>) => new Map([...map].map(([image, value]) => [image, textOf(value)]))
  const [was, is] = [texts(before), texts(after)]
  const images = new Set([...was.keys(), ...is.keys()])
  const changed = [...images].filter(image => was.get(image) !== is.get(image))
  return Object.fromEntries(changed.map(image => [image, is.get(image) ?? '']))
}
