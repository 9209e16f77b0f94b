/** Notices that somebody else replaces our status again and again, such as another release that judges otherwise. Pure. */

export interface PaceOptions {
  /** Replacements within this time count. */
  readonly withinMs: number
  /** After several replacements the status is written again at most this often. */
  readonly pauseMs: number
}

/** Replacements after which there is doubt, and after which writes are spaced. */
const doubtful = 3
const spaced = 4

/** The statuses of one key. Times are of the monotonic clock. Another text is a new beginning. */
export class StatusPace {
  readonly #options: PaceOptions
  #text: string | undefined
  #replacedMs: number[] = []
  /** The status has been as it was written since then. */
  #stands = false
  #writtenMs = Number.NEGATIVE_INFINITY

  constructor(options: PaceOptions) {
    this.#options = options
  }

  /** The status has been written so. */
  wrote(text: string, nowMs: number): void {
    if (text !== this.#text) {
      this.#text = text
      this.#replacedMs = []
    }
    this.#stands = true
    this.#writtenMs = nowMs
  }

  /**
   * The status differs from this text. Counts once each time that it was written so.
   * @returns whether others have replaced it several times, and just now
   */
  found(text: string, nowMs: number): boolean {
    if (text !== this.#text || !this.#stands) return false
    this.#stands = false
    this.#replacedMs = [...this.#replacedMs.filter(ms => ms > nowMs - this.#options.withinMs), nowMs]
    return this.#replacedMs.length >= doubtful
  }

  /** Milliseconds until this text may be written. */
  leftMs(text: string, nowMs: number): number {
    if (text !== this.#text || this.#replacedMs.length < spaced) return 0
    return Math.max(0, this.#writtenMs + this.#options.pauseMs - nowMs)
  }
}
