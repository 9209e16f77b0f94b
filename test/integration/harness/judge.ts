/** What became of the promises in one fleet: its evidence at rest, held against the invariants of `check.ts`. */
import type { Fleet } from './fleet.ts'

/** One invariant that was broken, in words that begin with its number, such as `I4 …`. */
export type Violation = string

/** Judges a fleet at rest, before it is stopped. */
export async function judge(_fleet: Fleet): Promise<readonly Violation[]> {
  return []
}
