/**
 * Limits the turns that are not urgent by the answers of the API server. Where these take several times as long as they could,
 * more turns at once do not end sooner: they queue at the server, and a revocation queues behind them. Pure.
 */

/** Answers by which it is decided. Their median counts: a webhook that hangs in one namespace is no sign of a busy server. */
const sample = 16
/** The shortest time is never taken for less, and grows by this share with each decision: it may have been in better days. */
const leastMs = 20
const growth = 0.02
/** A busy server takes so many times the shortest time. */
const busy = 4

export class Pace {
  readonly #least: number
  readonly #most: number
  #limit: number
  #shortestMs = Number.POSITIVE_INFINITY
  #answers: number[] = []

  /** @param most limit where the server is not busy */
  constructor(least: number, most: number) {
    this.#least = least
    this.#most = most
    this.#limit = most
  }

  /** Turns that may be taken at once. */
  get limit(): number {
    return this.#limit
  }

  /** A request has been answered after `ms`. */
  answered(ms: number): void {
    this.#answers.push(ms)
    if (this.#answers.length < sample) return
    const median = this.#answers.sort((a, b) => a - b)[sample / 2]!
    this.#answers = []
    this.#shortestMs = Math.max(leastMs, Math.min(this.#shortestMs * (1 + growth), median))
    const step = median > this.#shortestMs * busy ? -1 : 1
    this.#limit = Math.min(this.#most, Math.max(this.#least, this.#limit + step))
  }
}
