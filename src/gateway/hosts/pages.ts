/** The pages for a way into an app that leads nowhere. Pure. */
import { linkPage, type Page } from '../policy/pages.ts'
import type { Reason } from '../server/refused.ts'

/**
 * - `foreign`: it did not begin in this browser, is of another app, took too long, or was used before
 * - `replaced`: another app has the id by now
 * - `ended`: the login is over
 * - `slow`: there were too many tries
 * - `unavailable`: nobody can look it up now
 * - `refused`: the request itself is not in order
 */
export type FailedEntry = 'foreign' | 'replaced' | 'ended' | 'slow' | 'unavailable' | 'refused'

const words: Readonly<Record<FailedEntry, { readonly status: number; readonly says: string }>> = {
  foreign: {
    status: 400,
    says: 'This way into the app did not begin in this browser, took too long, or was used before.',
  },
  replaced: { status: 403, says: 'The app was replaced by another one of its name a moment ago.' },
  ended: { status: 403, says: 'Your login has just ended.' },
  slow: { status: 429, says: 'There were too many tries. Wait a moment.' },
  unavailable: { status: 503, says: 'The gateway cannot check who you are. Try again.' },
  refused: { status: 400, says: 'The request for it was not in order, or had too many cookies.' },
}

const address = '/console/enter'
const addressOf = (is: FailedEntry) => `${address}?ended=${is}`
const byAddress = new Map(Object.keys(words).map(is => [addressOf(is as FailedEntry), is as FailedEntry]))

export const statusOf = (is: FailedEntry): number => words[is].status

/**
 * Where an arrival leads that has failed. A service worker of an app learns the address of each document of its host, and that of
 * the arrival has a code, which may still be good. A redirect makes no document.
 */
export const leftTo = (is: FailedEntry): string => addressOf(is)

/** What an address says that `leftTo` has made. @param query of an arrival */
export const leftBy = (query: string): FailedEntry | undefined => byAddress.get(`${address}?${query}`)

/** Whether a document of this address may show a code. @param target of a request line, whatever becomes of it */
export const mayHaveCode = (target = ''): boolean => target.startsWith(`${address}?`) && !byAddress.has(target)

/** Why an arrival failed that was refused for this reason, before its code was looked at. */
export const failedBy = (reason: Reason | undefined): FailedEntry =>
  reason === 'slow' || reason === 'unavailable' ? reason : 'refused'

/** @param again where a new try begins */
export const failedEntryPage = (is: FailedEntry, again: string): Page =>
  linkPage({ ...words[is], title: 'The app is not open', to: again, name: 'Open the app' })
