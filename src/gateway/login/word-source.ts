/** A source that is asked about logins again. */
import type { Kept } from './keeper.ts'

/** The source's answer about a login that holds. */
export interface NewWord {
  readonly groups: readonly string[]
  /** For the next question. */
  readonly kept: Kept
}

export interface WordSource {
  /**
   * @returns 'ended' where the source knows the login no more, or somebody else by it, or without the scope
   * @throws {Unclear} where only this question has no usable answer; {ApiError} 503 where the source is away
   */
  again(kept: Kept, user: string): Promise<NewWord | 'ended'>
}
