/**
 * Logins that Redis does not know. Whoever forges cookies makes it be asked for each of them. So an id that it did not know is not
 * asked for again at once, and the others are counted by address. One that is known costs nothing.
 */
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../../base/errors.ts'
import { Kept } from './kept.ts'
import { Tries } from './tries.ts'

/**
 * How long Redis is not asked again. No login can begin meanwhile that was unknown: its id is made with it, of 32 random bytes, and
 * nobody can have asked for that before.
 */
const strangeMs = 5_000
const mostKept = 10_000
/** Browsers whose logins have ended ask with old cookies, and many of them may have one address. */
const rates = { ofAddress: { perSecond: 20, burst: 100 }, ofAll: { perSecond: 500, burst: 1_000 } }

export class Strangers {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #tries: Tries
  /** When Redis did not know a hash. */
  readonly #kept = new Kept<number>(mostKept)

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#tries = new Tries(clock, rates)
  }

  /** Whether Redis did not know it a moment ago. */
  isStrange(hash: string): boolean {
    const atMs = this.#kept.get(hash)
    return atMs !== undefined && this.#clock.monotonicMs() - atMs <= strangeMs
  }

  /**
   * Asks for a login, and remembers where there is none.
   * @param address of who presents its id
   * @throws {ApiError} 429 for one who has presented too many that are unknown
   */
  async ask<T>(hash: string, address: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const atMs = this.#clock.monotonicMs()
    const { afterMs, succeeded } = this.#tries.begin(address)
    if (afterMs > 0) throw tooMany(afterMs)
    let isUnknown = false
    try {
      const found = await read()
      isUnknown = found === undefined
      return found
    } finally {
      // Where Redis does not answer, nobody has guessed.
      if (isUnknown) this.#kept.set(hash, atMs)
      else succeeded()
    }
  }
}

const tooMany = (afterMs: number) =>
  new ApiError(
    429,
    { msg: 'there were too many unknown logins', type: 'too_many' },
    { 'Retry-After': String(Math.ceil(afterMs / 1000)) },
  )
