/** What Redis holds of prepulling: onto which nodes images were pulled, and what could not be. Written by one replica. */
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** An image that could not be pulled. */
export interface PullFailure {
  /** How often in a row. */
  readonly attempts: number
  /** When it is tried again, by Redis' clock. */
  readonly nextMs: number
  /** Why, in words. */
  readonly error: string
  /** UIDs of the nodes that lack it since; others need not wait. */
  readonly nodes: readonly string[]
  /** UID of the DaemonSet that failed: it counts once. */
  readonly set: string
}

/** By image, as `imageKey` names it. */
export interface PrepullRecords {
  /** UIDs of the nodes onto which it was pulled, and whether each has listed it since. */
  readonly prepulled: ReadonlyMap<string, ReadonlyMap<string, boolean>>
  readonly failures: ReadonlyMap<string, PullFailure>
}

export interface PrepullReading {
  /** Whether the lease is held under the token that was shown. */
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
   * All that is recorded.
   * @param token of the lease, by who means to write
   * @throws {RetryLater} Redis does not answer
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
   * Writes what differs between two states of the records, if anything does.
   * @returns false when the lease is not held under this token any more: nothing was written
   * @throws {RetryLater} Redis does not answer
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
  const entries = Array.from({ length: flat.length / 2 }, (_, i): [string, T] => [flat[2 * i]!, read(flat[2 * i + 1]!)])
  return new Map(entries)
}

/** Cut by others, a message may end in half a character. */
const writeFailure = (failure: PullFailure) => JSON.stringify({ ...failure, error: failure.error.toWellFormed() })

/** UIDs, with a plus sign behind those of nodes that have listed the image since. */
const writeNodes = (nodes: ReadonlyMap<string, boolean>) =>
  [...nodes]
    .map(([uid, listed]) => (listed ? `${uid}+` : uid))
    .sort()
    .join(' ')

const readNodes = (text: string) =>
  new Map(text.split(' ').map((word): [string, boolean] => [word.replace(/\+$/, ''), word.endsWith('+')]))

/** Text by image, empty for what is to be forgotten. */
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
