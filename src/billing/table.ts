/** The table of bills, as drivers offer it. docs/tenants-billing.md has its columns. Pure. */
import type { Bill, Billing } from '../base/bill.ts'

/** The row of one LNamespace that is not closed. */
export interface Standing {
  readonly name: string
  readonly generation: number
  readonly revision: number
  readonly billing: Billing
}

/**
 * The outcome of a bill. `same`: it had been written before, and its answer was lost; `older`: a newer one is there, so nothing was
 * written; `closed`: the end of this LNamespace is there, so nothing ever will be.
 */
export type Outcome = 'written' | 'same' | 'older' | 'closed' | Refused

/** The database does not take this bill, but others: in no case, or not now, since its row is locked. */
export class Refused {
  readonly detail: string
  readonly reason: 'Refused' | 'TimedOut'

  constructor(detail: string, reason: 'Refused' | 'TimedOut' = 'Refused') {
    this.detail = detail
    this.reason = reason
  }
}

/** A table, its heads and its log. It must be closed. */
export interface BillTable {
  /**
   * Writes bills, at most one of each LNamespace. Each is written as a whole or not at all, and only over what is older: the
   * fence is in the row of `…_head`.
   * @returns of the first ones alone, where a trouble came after them
   * @throws {TableTrouble} when none was answered
   */
  write(bills: readonly Bill[], signal: AbortSignal): Promise<readonly Outcome[]>
  /**
   * All that stands of this cluster, by UID.
   * @throws {TableTrouble}
   */
  read(signal: AbortSignal): Promise<ReadonlyMap<string, Standing>>
  /** Ends its connections. They are made again when they are needed. */
  rest(): Promise<void>
}

/** Reasons of the condition `Billed`. */
export type TroubleReason = 'Unreachable' | 'TimedOut' | 'AccessDenied' | 'TableMissing' | 'Refused'

/** For everybody. */
export const troubleWords: Readonly<Record<TroubleReason, string>> = {
  Unreachable: 'the database of bills cannot be reached',
  TimedOut: 'the database of bills does not answer in time',
  AccessDenied: 'the database of bills refuses the account',
  TableMissing: 'the table of bills, or a part of it, is missing',
  Refused: 'the database of bills refuses the statement',
}

/** The table cannot be used now. The message is for everybody: no text of a server, no address. */
export class TableTrouble extends Error {
  override readonly name = 'TableTrouble'
  readonly reason: TroubleReason
  /** For the log: what the server says, cut short. It has no secret. */
  readonly detail: string

  constructor(reason: TroubleReason, detail: string, options?: ErrorOptions) {
    super(troubleWords[reason], options)
    this.reason = reason
    this.detail = detail
  }
}

/** Bills of one read, at most: an answer of more bytes is no answer. */
export const mostReadBytes = 64 * 1024 * 1024
/** The same of any other answer. */
export const mostAnswerBytes = 1024 * 1024
