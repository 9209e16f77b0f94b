/** Counts tries of tokens, by the form and by `Authorization`, so that nobody guesses one. A try that succeeds costs nothing. */
import { createHash } from 'node:crypto'
import { Buckets, type Rate } from '../../base/buckets.ts'
import type { Clock } from '../../base/clock.ts'
import { networkOf } from '../../base/source.ts'
import { Kept } from './kept.ts'

/** Rates of one address, and of all: addresses are cheap. */
export interface TryRates {
  readonly ofAddress: Rate
  readonly ofAll: Rate
}

const ofTokens: TryRates = { ofAddress: { perSecond: 1 / 6, burst: 10 }, ofAll: { perSecond: 20, burst: 100 } }
const mostKnown = 10_000

export interface Try {
  /** Above 0: it must wait, and nothing was counted. */
  readonly afterMs: number
  /** Whether these words were tried here before, so that this tells nobody anything new. */
  readonly isKnown: boolean
  succeeded(): void
}

export class Tries {
  readonly #byNetwork: Buckets
  readonly #all: Buckets
  /** Hashes of words that were tried. Programs send the same token with each request, and one of their app with each to it. */
  readonly #known = new Kept<true>(mostKnown)

  /** @param rates default: those of tokens */
  constructor(clock: Pick<Clock, 'monotonicMs'>, { ofAddress, ofAll }: TryRates = ofTokens) {
    this.#byNetwork = new Buckets(ofAddress, clock)
    this.#all = new Buckets(ofAll, clock)
  }

  /** @param address of the client, as trusted proxies report it */
  begin(address: string): Try {
    const network = networkOf(address)
    // When strangers have used up what is for all, those wait who failed lately. Others could not log in otherwise.
    const isClean = this.#byNetwork.isFull(network)
    const ownMs = this.#byNetwork.take(network)
    if (ownMs > 0) return waiting(ownMs)
    const allMs = this.#all.take('')
    if (allMs > 0 && !isClean) {
      this.#byNetwork.giveBack(network)
      return waiting(allMs)
    }
    const succeeded = () => {
      this.#byNetwork.giveBack(network)
      if (allMs === 0) this.#all.giveBack('')
    }
    return { afterMs: 0, isKnown: false, succeeded }
  }

  /** Counts once, however many of these words of one request were not tried before. */
  beginWords(words: readonly string[], address: string): Try {
    const hashes = words.map(word => createHash('sha256').update(word).digest('base64'))
    if (hashes.every(hash => this.#known.get(hash))) return { afterMs: 0, isKnown: true, succeeded: () => {} }
    const begun = this.begin(address)
    if (begun.afterMs === 0) for (const hash of hashes) this.#known.set(hash, true)
    return begun
  }
}

const waiting = (afterMs: number): Try => ({ afterMs, isKnown: false, succeeded: () => {} })
