/** Token buckets by name, on the monotonic clock: they bound how often each name may do something. */
import type { Clock } from './clock.ts'

export interface Rate {
  /** Tokens that are added per second. */
  readonly perSecond: number
  /** Tokens of a full bucket. */
  readonly burst: number
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

export class Buckets {
  readonly #rate: Rate
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** In the order of their last use. A full bucket is the same as none, and is forgotten. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(rate: Rate, clock: Pick<Clock, 'monotonicMs'>) {
    this.#rate = rate
    this.#clock = clock
  }

  /**
   * Takes tokens.
   * @param amount counts as a full bucket if it is more than that
   * @returns 0, or the milliseconds until enough tokens are there; in this case nothing was taken
   */
  take(name: string, amount = 1): number {
    const nowMs = this.#clock.monotonicMs()
    this.#forgetFull(nowMs)
    const wanted = Math.min(amount, this.#rate.burst)
    const tokens = this.#tokensOf(name, nowMs)
    if (tokens < wanted) return ((wanted - tokens) / this.#rate.perSecond) * 1000
    this.#keep(name, { tokens: tokens - wanted, atMs: nowMs })
    return 0
  }

  /** Returns a token that was not used. */
  giveBack(name: string): void {
    const nowMs = this.#clock.monotonicMs()
    this.#keep(name, { tokens: Math.min(this.#rate.burst, this.#tokensOf(name, nowMs) + 1), atMs: nowMs })
  }

  /** Whether nothing was taken of it lately. */
  isFull(name: string): boolean {
    return this.#tokensOf(name, this.#clock.monotonicMs()) >= this.#rate.burst
  }

  /** Number of buckets that are not known to be full. */
  get size(): number {
    return this.#buckets.size
  }

  #tokensOf(name: string, nowMs: number): number {
    const { perSecond, burst } = this.#rate
    const bucket = this.#buckets.get(name)
    // Rounding must not make a wait longer than the one that was returned.
    return bucket ? Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond + 1e-6) : burst
  }

  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
  }

  /** All buckets fill within the same time, whatever is in them: those used longest ago are full first. */
  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate
    const untilFullMs = (burst / perSecond) * 1000
    for (const [name, { atMs }] of this.#buckets) {
      if (nowMs - atMs < untilFullMs) return
      this.#buckets.delete(name)
    }
  }
}
