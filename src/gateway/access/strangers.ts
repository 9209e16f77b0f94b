/**
 * Logins that Redis does not know. Each forged cookie costs a question to Redis. So an id that it did not know is not asked for
 * again at once, and the others are counted by address. A known one costs nothing. Beyond the count they wait in turn: behind the
 * same address somebody may just have logged in, and no count distinguishes him from a forger.
 */
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../../base/errors.ts'
import { Slots, SlotsByKey, TooManyWait } from '../../base/slots.ts'
import { networkOf } from '../../base/source.ts'
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

/** Questions at once beyond that, and how many wait for one. An answer takes a millisecond, so a place is free soon. */
const turns = { ofNetwork: { places: 4, maxWaiting: 64 }, ofAll: { places: 16, maxWaiting: 1_024 } }

export class Strangers {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #tries: Tries
  readonly #turns = new SlotsByKey(turns.ofNetwork.places, turns.ofNetwork)
  readonly #allTurns = new Slots(turns.ofAll.places, turns.ofAll)
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
   * @param address of the client that presents its id
   * @throws {ApiError} 429 where too many wait that are not known
   */
  async ask<T>(hash: string, address: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const { afterMs, succeeded } = this.#tries.begin(address)
    const begin = () => this.#read(hash, read, succeeded)
    return afterMs > 0 ? this.#inTurn(address, begin) : begin()
  }

  async #inTurn<T>(address: string, begin: () => Promise<T>): Promise<T> {
    try {
      return await this.#turns.run(networkOf(address), () => this.#allTurns.run(begin))
    } catch (error) {
      throw error instanceof TooManyWait ? tooMany() : error
    }
  }

  async #read<T>(hash: string, read: () => Promise<T | undefined>, succeeded: () => void): Promise<T | undefined> {
    // Somebody else may have asked while this one waited.
    if (this.isStrange(hash)) return undefined
    const atMs = this.#clock.monotonicMs()
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

const tooMany = () =>
  new ApiError(429, { msg: 'there were too many unknown logins', type: 'too_many' }, { 'Retry-After': '1' })
