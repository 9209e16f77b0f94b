/** The options of a sender of bills, and the facts that it shows. */
import type { Bill } from '../base/bill.ts'
import type { Leases } from '../leases/leases.ts'
import type { BillStore } from '../store/bills.ts'
import type { ComparingOptions } from './comparing.ts'
import type { BillTable, TroubleReason } from './table.ts'

export interface SenderOptions extends ComparingOptions {
  readonly table: BillTable
  readonly store: Pick<BillStore, 'put' | 'mark' | 'take' | 'end'>
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of the lease. */
  readonly lease: string
  readonly leaseTtlMs: number
  /** Whether nothing is sent: another installation serves the tenants. */
  readonly isElsewhere: () => boolean
  /** The condition of an LNamespace may have changed. */
  readonly onTold: (name: string) => void
  readonly onOutcome: (bill: Bill, outcome: OutcomeWord) => void
  readonly onFailed: (reason: TroubleReason) => void
}

export type OutcomeWord = 'written' | 'same' | 'older' | 'closed' | 'refused'

/** Bills that wait, as the replica that sends has last seen them. */
export interface Depth {
  readonly depth: number
  readonly oldestMs: number
}
