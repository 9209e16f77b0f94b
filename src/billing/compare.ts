/**
 * The compare of the table with the LNamespaces: it finds what no turn does, such as a Redis that was emptied, a table that was
 * restored or changed by hand, other defaults, and what was deleted while nobody ran.
 */
import type { BillEntry } from '../base/bill.ts'
import { RetryLater } from '../base/errors.ts'
import type { BillStore } from '../store/bills.ts'
import { differencesOf, type Listed } from './differences.ts'
import type { BillTable } from './table.ts'

export interface Gone {
  readonly uid: string
  readonly name: string
}

export interface CompareOptions {
  readonly table: Pick<BillTable, 'read'>
  readonly store: Pick<BillStore, 'put' | 'mark'>
  /** All LNamespaces, by UID, as the API server itself lists them now. @throws {RetryLater} */
  readonly list: (signal: AbortSignal) => Promise<ReadonlyMap<string, Listed>>
  /** Whether there is no LNamespace of this UID, as the API server itself says. @throws {RetryLater} */
  readonly isGone: (gone: Gone, signal: AbortSignal) => Promise<boolean>
}

export interface Compared {
  /** What stands as it should. */
  readonly right: readonly BillEntry[]
  /** Numbers of bills that were put. */
  readonly differences: number
  readonly ends: number
}

/** Writes to Redis, and questions to the API server, at once. */
const batch = 20

/**
 * Puts what is missing or differs.
 * @throws {RetryLater} when Redis was lost meanwhile, or somebody does not answer, and {TableTrouble}
 */
export async function compareBills(
  { table, store, list, isGone }: CompareOptions,
  { lease, token }: { readonly lease: string; readonly token: string },
  signal: AbortSignal,
): Promise<Compared> {
  if (!(await store.mark(lease, token, 'begin'))) throw new RetryLater('another replica sends bills')
  // The table is first: an LNamespace that is made meanwhile is listed, and not taken for gone.
  const standing = await table.read(signal)
  const listed = await list(signal)
  const { puts, gone, right } = differencesOf(standing, listed)
  const ends: Gone[] = []
  await inBatches(puts, signal, async bill => void (await store.put(bill, true)))
  await inBatches(gone, signal, async each => {
    if (!(await isGone(each, signal))) return
    await store.put({ ...each, ends: true }, true)
    ends.push(each)
  })
  if (!(await store.mark(lease, token, 'end'))) throw new RetryLater('the outbox of bills was lost meanwhile')
  return { right, differences: puts.length, ends: ends.length }
}

async function inBatches<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += batch) {
    signal.throwIfAborted()
    await Promise.all(items.slice(i, i + batch).map(work))
  }
}
