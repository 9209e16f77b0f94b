/**
 * The compare of the table with the LNamespaces: it finds what no turn does, such as a Redis that was emptied, a table that was
 * restored or changed by hand, other defaults, and what was deleted while nobody ran.
 */
import type { Bill, BillEntry } from '../base/bill.ts'
import { RetryLater } from '../base/errors.ts'
import { type BillStore, isBill } from '../store/bills.ts'
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
  /** Entries that are in the table as they should be. */
  readonly right: readonly BillEntry[]
  /** Numbers of bills that were put. */
  readonly differences: number
  readonly ends: number
  /** Ends that were not put, since they are too many to be believed. */
  readonly held: readonly Gone[]
  /** UIDs of what the table has, and no LNamespace can be. */
  readonly odd: readonly string[]
}

/** Writes to Redis, and questions to the API server, at once. */
const batch = 20
/** A compare that would end more than so many, and more than this share of the table, ends none. */
const mostEnds = 10
const mostShare = 0.5

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
  const differences = differencesOf(standing, listed)
  const { right } = differences
  const [puts, oddPuts] = byForm(differences.puts)
  const [gone, oddEnds] = byForm(differences.gone.map(each => ({ ...each, ends: true }) as const))
  const isHeld = gone.length > mostEnds && gone.length > standing.size * mostShare
  await inBatches(puts, signal, async bill => put(store, bill))
  let ends = 0
  await inBatches(isHeld ? [] : gone, signal, async each => {
    if (!(await isGone(each, signal))) return
    await put(store, each)
    ends += 1
  })
  if (!(await store.mark(lease, token, 'end'))) throw new RetryLater('the outbox of bills was lost meanwhile')
  const odd = [...oddPuts, ...oddEnds].map(({ uid }) => uid)
  return { right, differences: puts.length, ends, held: isHeld ? gone : [], odd }
}

function byForm<T extends Bill>(bills: readonly T[]): readonly [right: readonly T[], odd: readonly T[]] {
  return [bills.filter(isBill), bills.filter(bill => !isBill(bill))]
}

async function put(store: Pick<BillStore, 'put'>, bill: Bill): Promise<void> {
  if ((await store.put(bill, true)) === 'full') throw new RetryLater('the outbox of bills is full')
}

async function inBatches<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += batch) {
    signal.throwIfAborted()
    await Promise.all(items.slice(i, i + batch).map(work))
  }
}
