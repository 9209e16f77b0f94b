/** The table of bills against the LNamespaces. Pure. */
import { type BillEntry, billingText } from '../base/bill.ts'
import type { Standing } from './table.ts'

/** An LNamespace as the API server lists it. */
export interface Listed {
  readonly entry: BillEntry
  /** Whether it has or had a namespace. Before that it has no bill. */
  readonly isBilled: boolean
}

export interface Differences {
  readonly puts: readonly BillEntry[]
  /** Standing ones that the list lacks. Each must be asked for before it is closed. */
  readonly gone: readonly { readonly uid: string; readonly name: string }[]
  /** Entries that are in the table as they should be. */
  readonly right: readonly BillEntry[]
}

/**
 * @param standing was read before the list began: so a row of a higher generation is older than the list, as when the cluster was
 *   restored from a backup
 */
export function differencesOf(
  standing: ReadonlyMap<string, Standing>,
  listed: ReadonlyMap<string, Listed>,
): Differences {
  const puts: BillEntry[] = []
  const right: BillEntry[] = []
  for (const [uid, { entry, isBilled }] of listed) {
    const head = standing.get(uid)
    if (!head) {
      if (isBilled) puts.push(entry)
    } else if (entry.generation > head.generation) puts.push(entry)
    else if (billingText(entry.billing) === billingText(head.billing)) right.push(entry)
    else puts.push({ ...entry, generation: head.generation, revision: head.revision + 1 })
  }
  const gone = [...standing].flatMap(([uid, { name }]) => (listed.has(uid) ? [] : [{ uid, name }]))
  return { puts, gone, right }
}
