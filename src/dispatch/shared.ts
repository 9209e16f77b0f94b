/**
 * Machines that somebody has, and that have room for others of the same tenant. The fullest that still fits comes first: the others
 * become empty and end, and what is left of them stays in one piece for larger containers. Pure.
 */
import type { Share } from './room.ts'
import { isUsed, type Place, type Readiness } from './slots.ts'

/** By the processors that are left. */
interface Group {
  /** Rising. */
  readonly lefts: number[]
  readonly piles: Map<number, Place[]>
}

export interface Sought {
  readonly type: string
  readonly readiness: Readiness
  readonly tenant: string
  readonly share: Share
}

/** Neither a type nor a readiness has a space. */
const keyOf = (type: string, readiness: Readiness, tenant: string) => `${readiness} ${type} ${tenant}`

/** A machine that is only held is given away as a whole, unless there is room beside its holders. */
const isShared = (slot: Place): boolean => {
  if (slot.leaves) return false
  return isUsed(slot) ? slot.left.places > 0 : slot.holders.length > 0 && slot.left.places > slot.held.places
}

export class Shared {
  readonly #groups = new Map<string, Group>()

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /** To be called when it has another tenant, more users, or fewer holders. */
  put(slot: Place): void {
    if (!isShared(slot)) return
    const pile = this.#pileFor(slot)
    if (slot.pile === pile) return
    // Where it was, it counts no more.
    slot.pile = pile
    pile.push(slot)
  }

  /** @param fits whether the share fits: beside holders, or in place of those who come later */
  find({ type, readiness, tenant, share }: Sought, fits: (slot: Place, share: Share) => boolean): Place | undefined {
    const group = this.#groups.get(keyOf(type, readiness, tenant))
    for (const left of group?.lefts ?? []) {
      const found = left < share.vcpus ? undefined : fitting(group!.piles.get(left)!, slot => fits(slot, share))
      if (found) return found
    }
    return undefined
  }

  #pileFor({ type, readiness, tenant, left: { vcpus } }: Place): Place[] {
    const key = keyOf(type.name, readiness, tenant)
    let group = this.#groups.get(key)
    if (!group) {
      group = { lefts: [], piles: new Map() }
      this.#groups.set(key, group)
    }
    let pile = group.piles.get(vcpus)
    if (!pile) {
      pile = []
      group.piles.set(vcpus, pile)
      const at = group.lefts.findIndex(left => left > vcpus)
      group.lefts.splice(at < 0 ? group.lefts.length : at, 0, vcpus)
    }
    return pile
  }
}

/** The last one that fits. Those on the way that count no more are removed. */
function fitting(pile: Place[], fits: (slot: Place) => boolean): Place | undefined {
  for (let at = pile.length - 1; at >= 0; at -= 1) {
    const slot = pile[at]!
    const isOfOther = slot.pile !== pile
    if (!isOfOther && isShared(slot)) {
      if (fits(slot)) return slot
      continue
    }
    if (!isOfOther) slot.pile = undefined
    pile[at] = pile.at(-1)!
    pile.pop()
  }
  return undefined
}
