/** The answer to a claim, and the errors of one. */
import { RetryLater } from '../base/errors.ts'
import type { OperationRecord } from './records.ts'

export interface Claim<R extends OperationRecord = OperationRecord> {
  readonly record: R
  /** Time until the operation's deadline, by Redis' clock; negative when it has passed. */
  readonly remainingMs: number
  /** Redis' clock at the claim. */
  readonly nowMs: number
  /** The last op found by the latest compare of Redis' data: records up to it may be old. */
  readonly foundOp: number
  /** The epoch that this claim drew, for a kind whose claims draw one: higher than that of every earlier owner. */
  readonly epoch?: number
}

/** A claim was made, and its kind cannot read the record. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

/** No claim can be made, since its epoch would be more than a day beyond Redis' clock. */
export class EpochAhead extends RetryLater {}

export const epochAhead =
  'the last epoch lies more than a day beyond Redis’ clock: the clock is wrong, or the number was poisoned (skylab heal shows it)'
