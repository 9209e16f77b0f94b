/** Counts machines against every limit, and keeps room for those that were refused it. Pure. */
import { quotaOf } from './throttle.ts'
import type { Input, MachineType, TenantLimits } from './types.ts'

/** Why a machine cannot be created. With a `limit`, another machine's end may help. */
export interface Refusal {
  readonly sentence: string
  readonly limit?: string
}

/** Room that those who were refused wait for. */
export interface Debt {
  /** Refused containers of priorities above `priority`, and those of it. */
  higher: number
  at: number
  priority: number
}

type Counted = Pick<MachineType, 'group' | 'price'>

const all = 'all'
const ofTenant = (tenant: string) => `tenant ${tenant}`
const ofGroup = (group: string) => `group ${group}`

export class Ledger {
  readonly #input: Input
  readonly #count = new Map<string, number>()
  readonly #price = new Map<string, number>()
  /** A limit at which someone was refused is closed for those after him: they would use up his room. */
  readonly #debts = new Map<string, Debt>()
  readonly #leaving = new Map<string, number>()
  #creating = 0
  #created = 0

  constructor(input: Input) {
    this.#input = input
  }

  /** Machines that shut down count too, until they are gone: the cloud counts them. */
  add(type: Counted | undefined, tenant: string, state?: string): void {
    for (const limit of limitsOf(type, tenant)) {
      bump(this.#count, limit, 1)
      if (state === 'shutdown') bump(this.#leaving, limit, 1)
    }
    bump(this.#price, tenant, type?.price ?? 0)
    if (state === 'creating') this.#creating += 1
  }

  create(type: MachineType, tenant: string): void {
    this.add(type, tenant)
    this.#created += 1
  }

  /** Whether a machine of one tenant may serve another. */
  mayMove({ price }: Counted, tenant: string): boolean {
    return !this.#debts.has(ofTenant(tenant)) && this.#tenantRefusal(tenant, price) === undefined
  }

  move({ price }: Counted, from: string, to: string): void {
    bump(this.#count, ofTenant(from), -1)
    bump(this.#count, ofTenant(to), 1)
    bump(this.#price, from, -price)
    bump(this.#price, to, price)
  }

  refusal(type: MachineType, tenant: string): Refusal | undefined {
    const { rules, throttle, nowMs } = this.#input
    if (nowMs < throttle.createAfterMs) return { sentence: 'the cloud asked us to wait with new machines' }
    const pause = throttle.capacity.get(type.name)
    if (pause && nowMs < pause.untilMs) return { sentence: `the cloud has no ${type.name} now` }
    const inGroup = this.#countOf(ofGroup(type.group))
    if (this.#isFull(ofGroup(type.group), quotaOf(throttle, type.group, inGroup, nowMs))) {
      return { sentence: `the cloud's quota for ${type.group} is used up`, limit: ofGroup(type.group) }
    }
    if (this.#isFull(all, rules.maxInstances)) {
      return { sentence: `all ${rules.maxInstances} machines are in use`, limit: all }
    }
    const tenantRefusal = this.#tenantRefusal(tenant, type.price)
    if (tenantRefusal) return tenantRefusal
    if (this.#creating + this.#created < rules.maxConcurrentInstanceCreateOps) return undefined
    return { sentence: 'other machines are created first' }
  }

  #tenantRefusal(tenant: string, price: number): Refusal | undefined {
    const limits: TenantLimits = this.#input.rules.tenants.get(tenant) ?? {}
    const { maxInstances = Number.POSITIVE_INFINITY, maxPricePerHour = Number.POSITIVE_INFINITY } = limits
    // No end of another machine helps here, so nobody keeps room.
    if (price > maxPricePerHour) {
      return { sentence: `a machine for ${price} an hour is above the limit of tenant ${tenant}, ${maxPricePerHour}` }
    }
    const limit = ofTenant(tenant)
    if (this.#isFull(limit, maxInstances)) return { sentence: `tenant ${tenant} has all its machines`, limit }
    if ((this.#price.get(tenant) ?? 0) + price <= maxPricePerHour) return undefined
    return { sentence: `tenant ${tenant} has machines for all its money`, limit }
  }

  #isFull = (limit: string, most: number): boolean => this.#debts.has(limit) || this.#countOf(limit) >= most
  #countOf = (limit: string): number => this.#count.get(limit) ?? 0

  /** Opens a debt, which closes the limit. */
  debtAt(limit: string, priority: number): Debt {
    const debt = this.#debts.get(limit) ?? { higher: 0, at: 0, priority }
    this.#debts.set(limit, debt)
    return debt
  }

  /** Whether this machine's end makes room for somebody above `priority` who nobody made room for yet. */
  owes(type: Counted, tenant: string, priority: number): boolean {
    return limitsOf(type, tenant).some(limit => {
      const debt = this.#debts.get(limit)
      if (!debt) return false
      const owed = debt.priority > priority ? debt.higher + debt.at : debt.higher
      return owed > (this.#leaving.get(limit) ?? 0)
    })
  }

  /** Whether somebody above `priority` waits at a limit where this machine counts. Once so, it stays so in this pass. */
  isAwaited(type: Counted, tenant: string, priority: number): boolean {
    return limitsOf(type, tenant).some(limit => {
      const debt = this.#debts.get(limit)
      return debt !== undefined && (debt.higher > 0 || debt.priority > priority)
    })
  }

  leave(type: Counted | undefined, tenant: string): void {
    for (const limit of limitsOf(type, tenant)) bump(this.#leaving, limit, 1)
  }
}

/** One more waits for room. Priorities come in falling order. */
export function owe(debt: Debt, priority: number): void {
  if (debt.priority !== priority) {
    debt.higher += debt.at
    debt.at = 0
    debt.priority = priority
  }
  debt.at += 1
}

const limitsOf = (type: Counted | undefined, tenant: string): readonly string[] =>
  type ? [all, ofTenant(tenant), ofGroup(type.group)] : [all, ofTenant(tenant)]

const bump = (map: Map<string, number>, key: string, by: number) => map.set(key, (map.get(key) ?? 0) + by)
