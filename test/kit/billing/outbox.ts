/** An outbox in memory, as the scripts keep it in Redis. */
import { type Bill, inOrder, isEnd } from '../../../src/base/bill.ts'
import type { BillStore, WaitingBill } from '../../../src/store/bills.ts'

export class FakeOutbox implements Pick<BillStore, 'put' | 'take' | 'end' | 'mark'> {
  readonly bills = new Map<string, Bill>()
  isHeld = true
  isComplete = false
  comparing = false
  isFull = false
  /** Bills that it had no room for. */
  refusals = 0

  async put(bill: Bill) {
    if (this.isFull) {
      this.refusals += 1
      this.isComplete = false
      this.comparing = false
      return 'full' as const
    }
    this.bills.set(isEnd(bill) ? `${bill.uid}:end` : `${bill.uid}:${bill.generation}.${bill.revision}`, bill)
    return 'put' as const
  }

  async take() {
    if (!this.isHeld) return null
    const fields = new Map([...this.bills].map(([field, bill]) => [bill, field]))
    const bills = inOrder([...this.bills.values()]).map(bill => ({ bill, field: fields.get(bill)!, text: '' }))
    return { bills, depth: bills.length, oldestMs: 0, complete: this.isComplete }
  }

  async end({ field }: WaitingBill) {
    this.bills.delete(field)
  }

  async mark(_: string, __: string, step: 'begin' | 'end') {
    const isWhole = step === 'begin' || this.comparing
    this.comparing = step === 'begin'
    if (step === 'end') this.isComplete = isWhole
    return isWhole
  }

  /** As FLUSHALL. */
  lose(): void {
    this.bills.clear()
    this.isComplete = false
    this.comparing = false
  }
}
