/**
 * The sending replica's knowledge of each LNamespace, for the condition `Billed`. Others know nothing, and leave the condition
 * as it is: a replica that was stopped past its lease must not contradict its heir.
 */
import { type BillEntry, billingText } from '../base/bill.ts'
import type { Clock } from '../base/clock.ts'
import type { Told } from '../tenants/billing.ts'

export class Ledger {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #told = new Map<string, { readonly name: string; readonly told: Told }>()
  #validUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /**
   * The lease was seen to be ours at a time, and is for so long at least.
   * @returns names of LNamespaces that may have asked in vain since it was last known
   */
  holdsUntil(ms: number): readonly string[] {
    const hasLapsed = this.#clock.monotonicMs() >= this.#validUntilMs
    this.#validUntilMs = ms
    return hasLapsed ? [...this.#told.values()].map(({ name }) => name) : []
  }

  /** Another replica sends. */
  forget(): void {
    this.#told.clear()
    this.#validUntilMs = Number.NEGATIVE_INFINITY
  }

  told(uid: string): Told | undefined {
    return this.#clock.monotonicMs() < this.#validUntilMs ? this.#told.get(uid)?.told : undefined
  }

  /** @returns whether that is new */
  written({ uid, name, billing }: Pick<BillEntry, 'uid' | 'name' | 'billing'>): boolean {
    return this.#set(uid, name, { is: 'written', text: billingText(billing) })
  }

  /** @returns whether that is new */
  not({ uid, name }: Pick<BillEntry, 'uid' | 'name'>, reason: string, message: string): boolean {
    return this.#set(uid, name, { is: 'not', reason, message })
  }

  drop(uid: string): void {
    this.#told.delete(uid)
  }

  #set(uid: string, name: string, told: Told): boolean {
    const before = this.#told.get(uid)?.told
    this.#told.set(uid, { name, told })
    return JSON.stringify(before) !== JSON.stringify(told)
  }
}
