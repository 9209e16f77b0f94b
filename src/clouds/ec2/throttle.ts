/** How long to leave EC2 alone after it refused a call for its rate: longer each time, until it answers otherwise. Pure. */

const leastMs = 1_000
const mostMs = 60_000

export class Throttle {
  #delayMs = 0

  /** After a refusal. @returns how long to wait */
  refused(): number {
    this.#delayMs = Math.min(Math.max(this.#delayMs * 1.5 + 1_000, leastMs), mostMs)
    return this.#delayMs
  }

  /** After any other answer. */
  answered(): void {
    this.#delayMs = 0
  }
}
