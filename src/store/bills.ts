/**
 * The outbox of bills: what turns and compares leave for the one replica that sends. It may be lost: a compare of the table with
 * the LNamespaces puts again whatever is missing, and the table itself refuses what is older.
 */

import { z } from 'zod'
import { type Bill, inOrder, isEnd } from '../base/bill.ts'
import { parseJson } from '../base/json.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { pairsOf } from './pairs.ts'

/** `older`: something newer was put, or the end; `full`: nothing more is put, and a compare finds it when there is room. */
export type BillAnswer = 'put' | 'same' | 'older' | 'full'

export interface WaitingBill {
  readonly bill: Bill
  readonly field: string
  /** As it is in Redis. */
  readonly text: string
}

export interface TakenBills {
  /** In the order in which they are sent. */
  readonly bills: readonly WaitingBill[]
  /** All that wait, of which `bills` may be a part. */
  readonly depth: number
  /** How long the oldest of `bills` waits; 0 without one. */
  readonly oldestMs: number
  /** False if the outbox was lost, or is new: it may lack what only a compare finds. */
  readonly complete: boolean
}

/** Bills of one LNamespace that wait: while the database is away, the log has no line for those between. */
export const mostWaiting = 4
/** Bills of all that wait: Redis has other things to keep. */
export const fullAt = 5_000
const keepMs = 30 * 86_400_000
/** Bills that are read at once. */
const batch = 500

const shared = { uid: z.string().regex(/^\S{1,128}$/), name: z.string().min(1).max(253) }
const whole = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)
const schema = z.union([
  z.strictObject({ ...shared, generation: whole, revision: whole, billing: z.record(z.string(), z.string()) }),
  z.strictObject({ ...shared, ends: z.literal(true) }),
])

export class BillStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: readonly [bills: string, marks: string]
  readonly #full: number

  /** @param full as {@link fullAt}, but in tests */
  constructor(
    connection: Pick<Connection, 'run'>,
    { bills, billMarks }: Pick<Keys, 'bills' | 'billMarks'>,
    full = fullAt,
  ) {
    this.#connection = connection
    this.#full = full
    this.#keys = [bills, billMarks]
  }

  /**
   * @param again the caller has read the table: a bill that was put before may have been lost there
   * @throws {RetryLater} when Redis does not answer
   */
  async put(bill: Bill, again = false): Promise<BillAnswer> {
    const [generation, revision] = isEnd(bill) ? [0, 0] : [bill.generation, bill.revision]
    const text = JSON.stringify(schema.parse(bill))
    const args = [bill.uid, fieldOf(bill), generation, revision, text, mostWaiting, keepMs, again ? 1 : 0, this.#full]
    return (await this.#connection.run('put-bill', this.#keys, args)) as BillAnswer
  }

  /**
   * The bills that wait, for the holder of the lease.
   * @returns null if another one has it
   * @throws {RetryLater} when Redis does not answer
   */
  async take(lease: string, token: string): Promise<TakenBills | null> {
    const [outbox] = this.#keys
    const answer = (await this.#connection.run('take-bills', [lease, outbox], [token, batch])) as
      | [string, string, number, ...string[]]
      | null
    if (!answer) return null
    const [nowMs, complete, depth, ...flat] = answer
    const read = pairsOf(flat).map(([field, text]) => ({ field, text, ...parsed(text) }))
    const whole = read.flatMap(({ field, text, bill, atMs }) => (bill ? [{ field, text, bill, atMs }] : []))
    // A bill that cannot be read is nobody's: it is removed.
    for (const { field, text, bill } of read) if (!bill) await this.#end(field.split(':')[0]!, field, text)
    const place = new Map(inOrder(whole.map(({ bill }) => bill)).map((bill, index) => [bill, index]))
    return {
      bills: whole.sort((a, b) => place.get(a.bill)! - place.get(b.bill)!),
      ...{ depth, complete: complete !== '' },
      oldestMs: Math.max(0, ...whole.map(({ atMs }) => Number(nowMs) - atMs)),
    }
  }

  /** Forgets a bill that the table has answered. */
  end({ bill, field, text }: WaitingBill): Promise<void> {
    return this.#end(bill.uid, field, text)
  }

  /**
   * Marks the begin or the end of a compare: if the outbox was not lost between them, it is complete.
   * @returns false if another replica has the lease, or the outbox was lost
   * @throws {RetryLater} when Redis does not answer
   */
  async mark(lease: string, token: string, step: 'begin' | 'end'): Promise<boolean> {
    return (await this.#connection.run('mark-bills', [lease, this.#keys[0]], [token, step])) === 1
  }

  async #end(uid: string, field: string, text: string): Promise<void> {
    await this.#connection.run('end-bill', this.#keys, [uid, field, text])
  }
}

/** Whether a bill has the form of one. A table must not be believed about others. */
export const isBill = (bill: Bill): boolean => schema.safeParse(bill).success

/** The name of a bill among those of the outbox. */
function fieldOf(bill: Bill): string {
  if (isEnd(bill)) return `${bill.uid}:end`
  return `${bill.uid}:${bill.generation}${bill.revision === 0 ? '' : `.${bill.revision}`}`
}

/** A time and a bill. */
function parsed(text: string): { readonly atMs: number; readonly bill?: Bill } {
  const [, at = '0', json = ''] = /^(\d+) (.*)$/s.exec(text) ?? []
  const result = schema.safeParse(parseJson(json))
  return { atMs: Number(at), ...(result.success && { bill: result.data as Bill }) }
}
