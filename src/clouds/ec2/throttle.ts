/**
 * How long to leave EC2 alone after it refused a call for its rate: longer each time, until it answers otherwise. Calls that
 * were on their way together are refused together, which counts once. Times are of the monotonic clock. Pure.
 */

const leastMs = 1_000
const mostMs = 60_000

export class Throttle {
  #delayMs = 0
  #untilMs = Number.NEGATIVE_INFINITY
  #refusedMs = Number.NEGATIVE_INFINITY

  /** After a refusal of a call that was sent at `sentMs`. @returns how long to wait from now on */
  refused(sentMs: number, nowMs: number): number {
    if (this.#delayMs === 0 || sentMs >= this.#refusedMs) {
      this.#delayMs = Math.min(Math.max(this.#delayMs * 1.5 + 1_000, leastMs), mostMs)
      this.#refusedMs = nowMs
      this.#untilMs = nowMs + this.#delayMs
    }
    return this.pauseMs(nowMs)
  }

  /** After any other answer. */
  answered(): void {
    this.#delayMs = 0
  }

  /** How long to wait yet; 0 if not at all. */
  pauseMs(nowMs: number): number {
    return this.#delayMs === 0 ? 0 : Math.max(0, this.#untilMs - nowMs)
  }
}
