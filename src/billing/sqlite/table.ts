/** The table of bills in a file of SQLite, for tests and for a single replica. Its tables are made in it. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { type Bill, isEnd } from '../../base/bill.ts'
import { tableNames } from '../names.ts'
import { standingIn } from '../standing.ts'
import { type BillTable, type Outcome, Refused, type Standing, TableTrouble } from '../table.ts'

export interface SqliteOptions {
  readonly file: string
  readonly table: string
  readonly log: boolean
  readonly cluster: string
}

type Row = Readonly<Record<string, string | number | null>>

/** Constant but for the names of tables. */
function statementsOf(table: string) {
  const { rows, head, log } = tableNames(table, '"')
  return {
    tables: `CREATE TABLE IF NOT EXISTS ${rows} (ns_name TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  ns_uid TEXT NOT NULL, PRIMARY KEY (ns_uid, name)) STRICT;
CREATE TABLE IF NOT EXISTS ${head} (ns_uid TEXT PRIMARY KEY, ns_name TEXT NOT NULL, cluster TEXT NOT NULL,
  generation INTEGER NOT NULL, revision INTEGER NOT NULL, closed_at TEXT) STRICT;
CREATE TABLE IF NOT EXISTS ${log} (ns_uid TEXT NOT NULL, ns_name TEXT NOT NULL, cluster TEXT NOT NULL,
  generation INTEGER NOT NULL, revision INTEGER NOT NULL, closed INTEGER NOT NULL, billing TEXT NOT NULL,
  logged_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (ns_uid, generation, revision, closed)) STRICT;`,
    claim: `INSERT INTO ${head} AS h (ns_uid, ns_name, cluster, generation, revision) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (ns_uid) DO UPDATE SET ns_name = excluded.ns_name, cluster = excluded.cluster,
  generation = excluded.generation, revision = excluded.revision
WHERE h.closed_at IS NULL AND (h.generation, h.revision) < (excluded.generation, excluded.revision)
RETURNING generation, revision`,
    close: `INSERT INTO ${head} AS h (ns_uid, ns_name, cluster, generation, revision, closed_at)
VALUES (?, ?, ?, 0, 0, CURRENT_TIMESTAMP)
ON CONFLICT (ns_uid) DO UPDATE SET closed_at = CURRENT_TIMESTAMP WHERE h.closed_at IS NULL
RETURNING generation, revision`,
    standing: `SELECT generation, revision, closed_at IS NOT NULL AS closed FROM ${head} WHERE ns_uid = ?`,
    log: `INSERT INTO ${log} (ns_uid, ns_name, cluster, generation, revision, closed, billing) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`,
    remove: `DELETE FROM ${rows} WHERE ns_uid = ? AND name NOT IN (SELECT key FROM json_each(?))`,
    upsert: `INSERT INTO ${rows} (ns_uid, ns_name, name, value) SELECT ?, ?, key, value FROM json_each(?) WHERE true
ON CONFLICT (ns_uid, name) DO UPDATE SET ns_name = excluded.ns_name, value = excluded.value`,
    read: `SELECT h.ns_uid, h.ns_name, h.generation, h.revision, r.name, r.value, r.ns_name AS named
FROM ${head} AS h LEFT JOIN ${rows} AS r ON r.ns_uid = h.ns_uid WHERE h.cluster = ? AND h.closed_at IS NULL`,
  }
}

export class SqliteTable implements BillTable {
  readonly #options: SqliteOptions
  readonly #statements: ReturnType<typeof statementsOf>
  #database: DatabaseSync | undefined

  constructor(options: SqliteOptions) {
    this.#options = options
    this.#statements = statementsOf(options.table)
  }

  async write(bills: readonly Bill[]): Promise<readonly Outcome[]> {
    return bills.map(bill => this.#within(() => this.#writeOne(bill)))
  }

  async read(): Promise<ReadonlyMap<string, Standing>> {
    return this.#within(() => standingIn(this.#all(this.#statements.read, [this.#options.cluster])))
  }

  async rest(): Promise<void> {
    this.#database?.close()
    this.#database = undefined
  }

  #within<T>(work: () => T): T {
    try {
      this.#database ??= this.#open()
      return work()
    } catch (error) {
      void this.rest()
      throw troubleOf(error)
    }
  }

  #open(): DatabaseSync {
    // Another writer is not waited for: that would halt the whole process.
    const database = new DatabaseSync(this.#options.file, { timeout: 0 })
    database.exec(this.#statements.tables)
    return database
  }

  #all(text: string, values: readonly SQLInputValue[]): readonly Row[] {
    return this.#database!.prepare(text).all(...values) as unknown as Row[]
  }

  #writeOne(bill: Bill): Outcome {
    this.#database!.exec('BEGIN IMMEDIATE')
    try {
      const claimed = this.#claim(bill)
      if (claimed) this.#writeRows(bill, claimed)
      const outcome = claimed ? 'written' : this.#standing(bill)
      this.#database!.exec('COMMIT')
      return outcome
    } catch (error) {
      this.#database!.exec('ROLLBACK')
      if (!isConstraint(error)) throw error
      return new Refused((error as Error).message.slice(0, 200))
    }
  }

  #claim(bill: Bill): Row | undefined {
    const { claim, close } = this.#statements
    const key = [bill.uid, bill.name, this.#options.cluster]
    return isEnd(bill) ? this.#all(close, key)[0] : this.#all(claim, [...key, bill.generation, bill.revision])[0]
  }

  #writeRows(bill: Bill, { generation = 0, revision = 0 }: Row): void {
    const { cluster, log } = this.#options
    const billing = JSON.stringify(isEnd(bill) ? {} : bill.billing)
    const row = [bill.uid, bill.name, cluster, generation, revision, isEnd(bill) ? 1 : 0, billing]
    if (log) this.#all(this.#statements.log, row)
    this.#all(this.#statements.remove, [bill.uid, billing])
    this.#all(this.#statements.upsert, [bill.uid, bill.name, billing])
  }

  #standing(bill: Bill): Outcome {
    const [head] = this.#all(this.#statements.standing, [bill.uid])
    if (head?.closed === 1) return isEnd(bill) ? 'same' : 'closed'
    const isSame = !isEnd(bill) && head?.generation === bill.generation && head.revision === bill.revision
    return isSame ? 'same' : 'older'
  }
}

/** SQLITE_CONSTRAINT with what it is extended by, and SQLITE_MISMATCH. */
const isConstraint = (error: unknown): boolean => {
  const { errcode } = error as { readonly errcode?: number }
  return errcode !== undefined && [19, 20].includes(errcode & 0xff)
}

function troubleOf(error: unknown): TableTrouble {
  if (error instanceof TableTrouble) return error
  const { errcode = 0, message } = error as { readonly errcode?: number; readonly message: string }
  const code = errcode & 0xff
  if (code === 5 || code === 6) return new TableTrouble('TimedOut', message.slice(0, 200))
  return new TableTrouble(code === 14 ? 'Unreachable' : 'Refused', message.slice(0, 200))
}
