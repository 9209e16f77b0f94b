/** What is open asks a guard before each byte: a halt of this process must carry none for somebody who was revoked meanwhile. */

/**
 * - `ended`: the login or the session was revoked, or has ended
 * - `forbidden`: not a member any more, or the scope has changed
 * - `gone`: the app was deleted
 * - `stopped`: the app was stopped
 * - `unavailable`: Redis has not answered for a minute
 */
export type CutReason = 'ended' | 'forbidden' | 'gone' | 'stopped' | 'unavailable'

export interface Guard {
  /** Neither cut nor removed. */
  isOpen(): boolean
  /** Whether a byte may pass now. */
  mayPass(): boolean
  /** Looks at all again. Resolves when that has ended; what may no longer was cut by then. */
  look(): Promise<void>
  /** It has ended by itself. */
  remove(): void
}
