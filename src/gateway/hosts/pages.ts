/** The page for a way into an app that leads nowhere. Pure. */
import { linkPage, type Page } from '../policy/pages.ts'

/**
 * - `foreign`: it did not begin in this browser, is of another app, took too long, or was used before
 * - `replaced`: another app has the id by now
 * - `ended`: the login is over
 */
export type FailedEntry = 'foreign' | 'replaced' | 'ended'

const words: Readonly<Record<FailedEntry, { readonly status: number; readonly says: string }>> = {
  foreign: {
    status: 400,
    says: 'This way into the app did not begin in this browser, took too long, or was used before.',
  },
  replaced: { status: 403, says: 'The app was replaced by another one of its name a moment ago.' },
  ended: { status: 403, says: 'Your login has just ended.' },
}

/** @param again where a new try begins */
export const failedEntryPage = (is: FailedEntry, again: string): Page =>
  linkPage({ ...words[is], title: 'The app is not open', to: again, name: 'Open the app' })
