/** The present answers of the identity source about logins, for verdicts. `login/rechecks.ts` asks. */

/** How long the last word of the identity source holds while it does not answer. */
export const wordMs = 300_000

/** `ended`: the source knows the login no more; `changed`: its groups may be others. */
export type Word = 'same' | 'changed' | 'ended'

export interface Words {
  /** A login is used: where its last word grows old, the source is asked again beside it. */
  note(loginHash: string): void
  /** Whether its last word is known, and young enough. */
  isFresh(loginHash: string): boolean
  /**
   * Asks, or waits for a question that is on its way.
   * @throws {RetryLater} when the source has been silent for too long, or Redis is
   */
  ask(loginHash: string): Promise<Word>
  /** Whether the source has been silent for too long. */
  isTooOld(loginHash: string): boolean
}
