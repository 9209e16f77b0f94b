/** Bills of tests. */
import type { BillEnd, BillEntry } from '../../../src/base/bill.ts'

export const bill = (more: Partial<BillEntry> = {}): BillEntry => ({
  ...{ uid: 'u1', name: 'blue', generation: 1, revision: 0, billing: { 'cost-center': '42' } },
  ...more,
})

export const end = (more: Partial<BillEnd> = {}): BillEnd => ({ uid: 'u1', name: 'blue', ends: true, ...more })
