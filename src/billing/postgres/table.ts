/** The table of bills in PostgreSQL. One transaction for each bill; one connection, which is made when it is needed. */
import { type Bill, isEnd } from '../../base/bill.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { PostgresPlace } from '../places.ts'
import { type JoinedRow, standingIn } from '../standing.ts'
import { type BillTable, mostReadBytes, type Outcome, Refused, type Standing, TableTrouble } from '../table.ts'
import { KeptSession } from './kept-session.ts'
import type { Session } from './session.ts'
import { type Statements, statementsOf } from './statements.ts'
import { refusalOf } from './troubles.ts'

export interface PostgresOptions {
  readonly place: PostgresPlace
  readonly schema: string
  readonly table: string
  /** Whether each generation is kept in the log. */
  readonly log: boolean
  /** The name of this cluster in the heads. */
  readonly cluster: string
  readonly timeoutMs: number
  /** Heads of one page of a read; fewer in tests. */
  readonly pageHeads?: number
}

/** The largest bills of so many heads are a third of what an answer may have. */
const pageHeads = 500
/** Of all pages: what a process can keep. */
const mostStandingBytes = 4 * mostReadBytes
/** Bills of one call that wait in vain, one after another. */
const mostLate = 3

interface Claimed {
  readonly generation: string
  readonly revision: string
}

export class PostgresTable implements BillTable {
  readonly #options: PostgresOptions
  readonly #statements: Statements
  readonly #session: KeptSession

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#session = new KeptSession(options.place, options.timeoutMs)
    this.#statements = statementsOf(options.schema, options.table)
  }

  async write(bills: readonly Bill[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    let late = 0
    for (const bill of bills) {
      try {
        const outcome = await this.#session.within(signal, session => this.#writeOne(session, bill))
        late = outcome instanceof Refused && outcome.reason === 'TimedOut' ? late + 1 : 0
        outcomes.push(outcome)
      } catch (error) {
        // Those before it are done, and the next call meets the trouble first.
        if (signal.aborted || outcomes.length === 0) throw error
        break
      }
      // Each waits for as long, as where somebody has locked the whole table.
      if (late === mostLate) break
    }
    return outcomes
  }

  read(signal: AbortSignal): Promise<ReadonlyMap<string, Standing>> {
    return this.#session.within(signal, async session => {
      const found = new Map<string, Standing>()
      await session.begin('READ ONLY')
      for (let [after, bytes]: [string | undefined, number] = ['', 0]; after !== undefined; ) {
        const values: unknown[] = [this.#options.cluster, after, this.#options.pageHeads ?? pageHeads]
        const before = session.bytesRead
        const rows = await session.query<JoinedRow>(this.#statements.read, values, mostReadBytes)
        bytes += session.bytesRead - before
        if (bytes > mostStandingBytes) throw new TableTrouble('Refused', `the table has more than ${bytes} bytes`)
        for (const [uid, standing] of standingIn(rows)) found.set(uid, standing)
        // It came in order: one that goes back would have no end.
        const last = rows.at(-1)?.ns_uid
        if (typeof last === 'string' && last === after)
          throw new TableTrouble('Refused', 'a page repeats the one before')
        after = typeof last === 'string' ? last : undefined
      }
      await session.end('COMMIT')
      return found
    })
  }

  async rest(): Promise<void> {
    this.#session.rest()
  }

  async #writeOne(session: Session, bill: Bill): Promise<Outcome> {
    await session.begin('READ WRITE')
    try {
      const claimed = await this.#claim(session, bill)
      await failpoint('billing.in-transaction', bill.name)
      if (claimed) await this.#writeRows(session, bill, claimed)
      const outcome = claimed ? 'written' : await this.#standing(session, bill)
      await session.end('COMMIT')
      return outcome
    } catch (error) {
      const refused = refusalOf(error)
      if (!refused) throw error
      await session.end('ROLLBACK')
      return refused
    }
  }

  async #claim(session: Session, bill: Bill): Promise<Claimed | undefined> {
    const { claim, close } = this.#statements
    const key = [bill.uid, bill.name, this.#options.cluster]
    const rows = isEnd(bill)
      ? await session.query<Claimed>(close, key)
      : await session.query<Claimed>(claim, [...key, bill.generation, bill.revision])
    return rows[0]
  }

  async #writeRows(session: Session, bill: Bill, { generation, revision }: Claimed): Promise<void> {
    const { cluster, log } = this.#options
    const billing = isEnd(bill) ? {} : bill.billing
    const [names, values] = [Object.keys(billing), Object.values(billing)]
    if (log) {
      const row = [bill.uid, bill.name, cluster, generation, revision, isEnd(bill), JSON.stringify(billing)]
      await session.query(this.#statements.log, row)
    }
    await session.query(this.#statements.remove, [bill.uid, names])
    if (names.length > 0) await session.query(this.#statements.upsert, [bill.uid, bill.name, names, values])
  }

  /** Why nothing was claimed. */
  async #standing(session: Session, bill: Bill): Promise<Outcome> {
    const rows = await session.query<Claimed & { readonly closed: boolean }>(this.#statements.standing, [bill.uid])
    const [head] = rows
    if (!head) throw new TableTrouble('Refused', 'a head is gone that was there')
    if (head.closed) return isEnd(bill) ? 'same' : 'closed'
    const isSame =
      !isEnd(bill) && Number(head.generation) === bill.generation && Number(head.revision) === bill.revision
    return isSame ? 'same' : 'older'
  }
}
