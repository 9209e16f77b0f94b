/**
 * Takes the operations of a look in their order, several at once, as long as there are slots. To take one needs two answers
 * of Redis, one after the other.
 */
import type { Slots } from '../base/slots.ts'

const takesAtOnce = 16

export interface Taking {
  readonly room: Slots
  /** Whether an operation is left over if there is no slot for it. */
  needsSlot(name: string): boolean
  /**
   * `places`: slots already taken for it; the run frees them, or a take that fails.
   * @returns false if another replica has it
   */
  take(name: string, places: number): Promise<boolean>
  /** An operation is left over, since there was no slot for it. */
  onMissed(): void
  isClosed(): boolean
  onError(error: unknown): void
}

/** @returns how many of them another replica has */
export async function takeAll(names: readonly string[], taking: Taking): Promise<number> {
  const { room } = taking
  const underWay = new Set<Promise<void>>()
  let refused = 0
  for (const name of names) {
    const needsSlot = taking.needsSlot(name)
    // A take that fails frees its slot for the next one.
    while (underWay.size >= takesAtOnce || (underWay.size > 0 && needsSlot && room.free === 0)) {
      await Promise.race(underWay)
    }
    if (taking.isClosed()) break
    const places = room.tryEnter() ? 1 : 0
    if (places === 0 && needsSlot) {
      taking.onMissed()
      continue
    }
    const take = taking
      .take(name, places)
      .then(isTaken => {
        if (!isTaken) refused += 1
      }, taking.onError)
      .then(() => void underWay.delete(take))
    underWay.add(take)
  }
  await Promise.all(underWay)
  return refused
}
