/** Tells users on the form why their last lab was stopped. Pure. */

/** A stop because nobody used the lab. */
export interface LastStop {
  /** Redis' clock. */
  readonly ms: number
  /** As in the first event of the deletion: `stopped after 60 min without activity (rule gpu)`. */
  readonly words: string
}

/** Where the last stops are known. */
export interface IdleNotices {
  /** @returns undefined if the user's last lab was not stopped for idleness, or too long ago to be known */
  lastStop(user: string): Promise<LastStop | undefined>
}

/** How long a stop stands on the form. */
const shownMs = 7 * 24 * 3_600_000

const inWords = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** @returns undefined if there was no stop within a week */
export function noticeOf(stop: LastStop | undefined, nowMs: number): string | undefined {
  if (!stop || nowMs - stop.ms > shownMs) return undefined
  return `Your last lab was ${stop.words}, on ${inWords.format(stop.ms)} UTC.`
}
