/** The entries of the table of bills. Pure. */

/** Billing metadata in effect: who pays for a namespace. */
export type Billing = Readonly<Record<string, string>>

/** The rows of one LNamespace, as of one generation. */
export interface BillEntry {
  readonly uid: string
  /** The name of the LNamespace, and of its namespace. */
  readonly name: string
  readonly generation: number
  /**
   * 0, or higher where the rows of a generation had to be written anew: its defaults have changed, or somebody has changed the
   * table. Only a compare draws one, from the row that it has read.
   */
  readonly revision: number
  readonly billing: Billing
}

/** The end of an LNamespace: it has no rows any more, and never again. */
export interface BillEnd {
  readonly uid: string
  readonly name: string
  readonly ends: true
}

export type Bill = BillEntry | BillEnd

export const isEnd = (bill: Bill): bill is BillEnd => 'ends' in bill

/** Whether the first is before the second, for bills of one LNamespace. */
export function isBefore(a: Pick<BillEntry, 'generation' | 'revision'>, b: Pick<BillEntry, 'generation' | 'revision'>) {
  return a.generation < b.generation || (a.generation === b.generation && a.revision < b.revision)
}

/** In the order in which those of one LNamespace are sent: an end is last. */
export function inOrder(bills: readonly Bill[]): readonly Bill[] {
  return [...bills].sort((a, b) => {
    if (a.uid !== b.uid) return a.uid < b.uid ? -1 : 1
    if (isEnd(a) || isEnd(b)) return Number(isEnd(a)) - Number(isEnd(b))
    return isBefore(a, b) ? -1 : 1
  })
}

/** Two sets of rows are equal if these texts are. */
export const billingText = (billing: Billing): string =>
  JSON.stringify(Object.entries(billing).sort(([a], [b]) => (a < b ? -1 : 1)))
