/** Machines that a pass may give away, by type. Every search pops what it no longer needs, so that a pass stays short. Pure. */
import type { Machine, MachineType, Waiting } from './types.ts'

/** A machine during a pass. */
export interface Slot {
  readonly machine: Machine
  readonly type: MachineType
  /** Of its container, as far as the pass came. */
  tenant: string
  /** The place in the queue of a container that has it, and may still lose it. */
  holder: number | undefined
  /** Who gets it. */
  user: Waiting | undefined
  /** It is shut down. */
  leaves: boolean
}

export type Readiness = 'idle' | 'booting'

export const readinessOf = ({ state }: Machine): Readiness => (state === 'idle' ? 'idle' : 'booting')

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

const isFree = ({ holder, user, leaves }: Slot): boolean => holder === undefined && user === undefined && !leaves
const isHeld = ({ holder, user, leaves }: Slot): boolean => holder !== undefined && user === undefined && !leaves

export class Shelves {
  readonly #piles = {
    idle: new Map<string, { readonly free: Pile; readonly held: Pile }>(),
    booting: new Map<string, { readonly free: Pile; readonly held: Pile }>(),
  }

  constructor(slots: readonly Slot[]) {
    // The last is used first: of idle ones the latest, so that others reach their time-out; of booting ones the earliest.
    const free = slots.filter(isFree).toSorted(bySince)
    for (const slot of free) if (readinessOf(slot.machine) === 'idle') this.release(slot)
    for (const slot of free.toReversed()) if (readinessOf(slot.machine) === 'booting') this.release(slot)
    const held = slots.filter(isHeld).toSorted((a, b) => a.holder! - b.holder!)
    for (const slot of held) this.#of(slot.type.name, readinessOf(slot.machine)).held.push(slot)
  }

  /** Nobody holds it any more. */
  release(slot: Slot): void {
    slot.holder = undefined
    this.#of(slot.type.name, readinessOf(slot.machine)).free.push(slot)
  }

  /** A machine that nobody has; else that of the last in the queue: who came before has kept his own, or released it. */
  find(type: string, readiness: Readiness, by: { tenant: string; ofOthers: boolean }): Slot | undefined {
    const { free, held } = this.#of(type, readiness)
    return free.last(isFree, by.tenant, by.ofOthers) ?? held.last(isHeld, by.tenant, by.ofOthers)
  }

  #of(type: string, readiness: Readiness) {
    let piles = this.#piles[readiness].get(type)
    if (!piles) {
      piles = { free: new Pile(), held: new Pile() }
      this.#piles[readiness].set(type, piles)
    }
    return piles
  }
}

const bySince = ({ machine: a }: Slot, { machine: b }: Slot): number => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1)
