/**
 * Notices that somebody else changes our objects again and again, such as another release with other wishes: to answer each
 * change would never end. Pure.
 */

export interface RivalsOptions {
  /** Differences of a key within `withinMs` before a pause. */
  readonly times: number
  readonly withinMs: number
  readonly pauseMs: number
}

export const rivalsDefaults: RivalsOptions = { times: 4, withinMs: 60_000, pauseMs: 30_000 }

/**
 * The rivals of one key. Times are of the monotonic clock. A new wish is a new beginning. After each pause one change is answered,
 * whatever happened in the pause; the next one begins another pause.
 */
export class Rivals {
  readonly #options: RivalsOptions
  #wish: string | undefined
  #foundMs: number[] = []
  #lastSeen: string | undefined
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  /** The one answer after a pause was not given yet. */
  #owesAnswer = false
  /** Until then the rival is known by what it did. */
  #knownUntilMs = Number.NEGATIVE_INFINITY
  /** Until then others may know of a rival that we do not see, or have seen it later than we. */
  #suspectedUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: RivalsOptions = rivalsDefaults) {
    this.#options = options
  }

  /** All is as wished, or has just been written so. A later difference is another's change. */
  reached(wish: string): void {
    this.#lastSeen = undefined
    if (wish === this.#wish) return
    this.#wish = wish
    this.#foundMs = []
    this.#owesAnswer = false
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY
    this.#knownUntilMs = Number.NEGATIVE_INFINITY
    this.#suspectedUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Something differs. Counts if this wish was reached before.
   * @param seen what differs, and how: the same sight counts once until it is answered
   * @returns whether the wish was reached before, so that others have undone it
   */
  found(wish: string, seen: string, nowMs: number): boolean {
    if (wish !== this.#wish) return false
    if (seen !== this.#lastSeen && !this.isPaused(wish, nowMs)) this.#count(seen, nowMs)
    return true
  }

  #count(seen: string, nowMs: number): void {
    this.#lastSeen = seen
    this.#foundMs = [...this.#foundMs.filter(ms => ms > nowMs - this.#options.withinMs), nowMs]
    // A rival that was known is back.
    if (this.#foundMs.length < this.#options.times && nowMs >= this.#suspectedUntilMs) return
    this.#knownUntilMs = nowMs + this.#options.withinMs
    this.#suspectedUntilMs = nowMs + this.#silentMs
    if (!this.#owesAnswer) this.#pausedUntilMs = nowMs + this.#options.pauseMs
    this.#owesAnswer = !this.#owesAnswer
  }

  /** The difference has been written away: it is another's change if it is found again. */
  answered(wish: string): void {
    if (wish !== this.#wish) return
    this.#lastSeen = undefined
    this.#owesAnswer = false
  }

  /** Others replace our status again and again: one of us may have given way to a rival. */
  suspect(wish: string, nowMs: number): void {
    if (wish === this.#wish) this.#suspectedUntilMs = nowMs + this.#silentMs
  }

  /** Longer than two pauses, in which each of two rivals tries once. */
  get #silentMs(): number {
    return 2 * this.#options.withinMs
  }

  /** Whether only revocations are done for now. */
  isPaused(wish: string, nowMs: number): boolean {
    return wish === this.#wish && nowMs < this.#pausedUntilMs
  }

  /** Whether there is a rival, or is suspected: from the first pause until it has done nothing for twice `withinMs`. */
  isContended(wish: string, nowMs: number): boolean {
    return wish === this.#wish && nowMs < this.#suspectedUntilMs
  }

  /**
   * Whether a rival is only suspected. Replicas that know of it tell so, and the first to suspect none tells that. So replicas
   * that have seen its last change within `withinMs` never contradict each other.
   */
  isSuspected(wish: string, nowMs: number): boolean {
    return this.isContended(wish, nowMs) && nowMs >= this.#knownUntilMs
  }

  /** Milliseconds until the end of the pause, or then until there is no rival; 0 without one. */
  leftMs(nowMs: number): number {
    const endMs = nowMs < this.#pausedUntilMs ? this.#pausedUntilMs : this.#suspectedUntilMs
    return Math.max(0, endMs - nowMs)
  }
}
