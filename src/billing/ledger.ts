/**
 * What the replica that sends knows of each LNamespace, for the condition `Billed`. Others know nothing, and leave the condition
 * as it is: a replica that was stopped past its lease must not contradict its heir.
 */
import { type BillEntry, billingText } from '../base/bill.ts'
import type { Clock } from '../base/clock.ts'
import type { Told } from '../tenants/billing.ts'

export class Ledger {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #told = new Map<string, Told>()
  #validUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The lease was seen to be ours at a time, and is for so long at least. */
  holdsUntil(ms: number): void {
    this.#validUntilMs = ms
  }

  /** Another replica sends. */
  forget(): void {
    this.#told.clear()
    this.#validUntilMs = Number.NEGATIVE_INFINITY
  }

  told(uid: string): Told | undefined {
    return this.#clock.monotonicMs() < this.#validUntilMs ? this.#told.get(uid) : undefined
  }

  written({ uid, billing }: Pick<BillEntry, 'uid' | 'billing'>): boolean {
    return this.#set(uid, { is: 'written', text: billingText(billing) })
  }

  not(uid: string, reason: string, message: string): boolean {
    return this.#set(uid, { is: 'not', reason, message })
  }

  drop(uid: string): void {
    this.#told.delete(uid)
  }

  /** @returns whether that is new */
  #set(uid: string, told: Told): boolean {
    const before = this.#told.get(uid)
    this.#told.set(uid, told)
    return JSON.stringify(before) !== JSON.stringify(told)
  }
}
