/** Machines that a pass may give away, by type. Every search pops what it no longer needs, so that a pass stays short. Pure. */
import { Shared } from './shared.ts'
import { isUsed, letGo, type Slot } from './slots.ts'

/** Stacks: the last is taken first. */
class Pile {
  readonly #all: Slot[] = []
  readonly #byTenant = new Map<string, Slot[]>()

  push(slot: Slot): void {
    this.#all.push(slot)
    const own = this.#byTenant.get(slot.tenant)
    if (own) own.push(slot)
    else this.#byTenant.set(slot.tenant, [slot])
  }

  /** The last one that still counts: of the tenant's own, else of any where others' may be used. */
  last(counts: (slot: Slot) => boolean, tenant: string, ofOthers: boolean): Slot | undefined {
    return lastOf(this.#byTenant.get(tenant) ?? [], counts) ?? (ofOthers ? lastOf(this.#all, counts) : undefined)
  }
}

function lastOf(stack: Slot[], counts: (slot: Slot) => boolean): Slot | undefined {
  let last = stack.at(-1)
  while (last && !counts(last)) {
    stack.pop()
    last = stack.at(-1)
  }
  return last
}

const isFree = (slot: Slot): boolean => slot.holders.length === 0 && !isUsed(slot) && !slot.leaves
const isHeld = (slot: Slot): boolean => slot.holders.length > 0 && !isUsed(slot) && !slot.leaves

type Known = Slot['readiness']

export class Shelves {
  /** Those that somebody has already. */
  readonly shared = new Shared()
  readonly #piles = {
    idle: new Map<string, { readonly free: Pile; readonly held: Pile }>(),
    booting: new Map<string, { readonly free: Pile; readonly held: Pile }>(),
  }

  constructor(slots: readonly Slot[]) {
    // The last is used first: of idle ones the latest, so that others reach their time-out; of booting ones the earliest.
    const free = slots.filter(isFree).toSorted(bySince)
    for (const slot of free) if (slot.readiness === 'idle') this.#free(slot)
    for (const slot of free.toReversed()) if (slot.readiness === 'booting') this.#free(slot)
    const held = slots.filter(isHeld).toSorted((a, b) => a.holders[0]!.place - b.holders[0]!.place)
    for (const slot of held) this.#of(slot.type.name, slot.readiness).held.push(slot)
    for (const slot of slots) this.shared.put(slot)
  }

  /** This place of the queue holds no part of it any more. */
  release(slot: Slot, place: number): void {
    if (!letGo(slot, place)) return
    if (isFree(slot)) this.#free(slot)
    else this.shared.put(slot)
  }

  #free(slot: Slot): void {
    this.#of(slot.type.name, slot.readiness).free.push(slot)
  }

  /** A machine that nobody has. */
  free(type: string, readiness: Known, tenant: string, ofOthers: boolean): Slot | undefined {
    return this.#of(type, readiness).free.last(isFree, tenant, ofOthers)
  }

  /** The machine of the last holder in the queue: an earlier container has kept its own, or released it. */
  held(type: string, readiness: Known, tenant: string, ofOthers: boolean): Slot | undefined {
    return this.#of(type, readiness).held.last(isHeld, tenant, ofOthers)
  }

  #of(type: string, readiness: Known) {
    let piles = this.#piles[readiness].get(type)
    if (!piles) {
      piles = { free: new Pile(), held: new Pile() }
      this.#piles[readiness].set(type, piles)
    }
    return piles
  }
}

const bySince = ({ machine: a }: Slot, { machine: b }: Slot): number => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1)
