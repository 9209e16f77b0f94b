/** The table of bills in BigQuery. All bills of a call are one transaction. */
import { type Bill, isEnd } from '../../base/bill.ts'
import { standingIn } from '../standing.ts'
import { type BillTable, type Outcome, type Standing, TableTrouble } from '../table.ts'
import { type ReadRow, scalar, structures } from './parameters.ts'
import type { Queries } from './queries.ts'
import { type Statements, statementsOf } from './statements.ts'

export interface BigQueryOptions {
  readonly queries: Pick<Queries, 'rows' | 'close'>
  readonly projectId: string
  readonly dataset: string
  readonly table: string
  readonly log: boolean
  readonly cluster: string
}

const billFields = {
  ns_uid: 'STRING',
  ns_name: 'STRING',
  generation: 'INT64',
  revision: 'INT64',
  ends: 'BOOL',
  billing: 'STRING',
} as const
const lineFields = { ns_uid: 'STRING', name: 'STRING', value: 'STRING' } as const

export class BigQueryTable implements BillTable {
  readonly #options: BigQueryOptions
  readonly #statements: Statements

  constructor(options: BigQueryOptions) {
    this.#options = options
    this.#statements = statementsOf(options.projectId, options.dataset, options.table)
  }

  async write(bills: readonly Bill[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const { queries, cluster, log } = this.#options
    const parameters = [
      structures('bills', billFields, bills.map(asBill)),
      structures('lines', lineFields, bills.flatMap(linesOf)),
      scalar('cluster', 'STRING', cluster),
      scalar('log', 'BOOL', log),
    ]
    const rows = await queries.rows({ text: this.#statements.write, parameters, isWrite: true }, signal)
    const heads = new Map(rows.map(row => [row.ns_uid, row]))
    return bills.map(bill => outcomeOf(bill, heads.get(bill.uid)))
  }

  async read(signal: AbortSignal): Promise<ReadonlyMap<string, Standing>> {
    const { queries, cluster } = this.#options
    const parameters = [scalar('cluster', 'STRING', cluster)]
    return standingIn(await queries.rows({ text: this.#statements.read, parameters, isWrite: false }, signal))
  }

  /** Connections that rest cost nothing here. */
  async rest(): Promise<void> {}
}

function asBill(bill: Bill) {
  const { uid: ns_uid, name: ns_name } = bill
  return isEnd(bill)
    ? { ns_uid, ns_name, generation: 0, revision: 0, ends: true, billing: '{}' }
    : {
        ...{ ns_uid, ns_name, generation: bill.generation, revision: bill.revision, ends: false },
        billing: JSON.stringify(bill.billing),
      }
}

const linesOf = (bill: Bill) =>
  isEnd(bill) ? [] : Object.entries(bill.billing).map(([name, value]) => ({ ns_uid: bill.uid, name, value }))

function outcomeOf(bill: Bill, head: ReadRow | undefined): Outcome {
  if (!head) throw new TableTrouble('Refused', 'the answer lacks a bill that was sent')
  if (head.written === 'true') return 'written'
  if (head.closed === 'true') return isEnd(bill) ? 'same' : 'closed'
  const isSame = !isEnd(bill) && Number(head.generation) === bill.generation && Number(head.revision) === bill.revision
  return isSame ? 'same' : 'older'
}
