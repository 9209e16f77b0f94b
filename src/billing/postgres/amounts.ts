/** The costs of machines in PostgreSQL: lines that are only added, each once. */
import type { Amount, AmountTable } from '../amount.ts'
import type { PostgresPlace } from '../places.ts'
import { TableTrouble } from '../table.ts'
import { KeptSession } from './kept-session.ts'
import type { Session } from './session.ts'
import { amountsStatementOf } from './statements.ts'
import { refusalOf } from './troubles.ts'

export interface PostgresAmountsOptions {
  readonly place: PostgresPlace
  readonly schema: string
  /** Of bills: the lines are in `…_machines` beside it. */
  readonly table: string
  readonly timeoutMs: number
}

export class PostgresAmounts implements AmountTable {
  readonly #statement: string
  readonly #session: KeptSession

  constructor({ place, schema, table, timeoutMs }: PostgresAmountsOptions) {
    this.#statement = amountsStatementOf(schema, table)
    this.#session = new KeptSession(place, timeoutMs)
  }

  async add(amounts: readonly Amount[], signal: AbortSignal): Promise<readonly Amount[]> {
    if (amounts.length === 0) return []
    return this.#session.within(signal, async session => {
      if ((await this.#addAll(session, amounts)) === 'added') return []
      // An amount that the database takes in no case must not keep the others.
      const refused: Amount[] = []
      for (const amount of amounts) if ((await this.#addAll(session, [amount])) === 'refused') refused.push(amount)
      return refused
    })
  }

  rest(): void {
    this.#session.rest()
  }

  /** @throws {TableTrouble} */
  async #addAll(session: Session, amounts: readonly Amount[]): Promise<'added' | 'refused'> {
    const column = <K extends keyof Amount>(key: K) => amounts.map(amount => amount[key])
    const values = [
      ...[column('container'), column('tenant'), column('instanceType'), column('pricePerHour')],
      ...[column('startedMs'), column('finishedMs'), column('cost')],
    ]
    await session.begin('READ WRITE')
    try {
      await session.query(this.#statement, values)
      await session.end('COMMIT')
      return 'added'
    } catch (error) {
      const refusal = refusalOf(error)
      if (!refusal) throw error
      if (refusal.reason === 'TimedOut') throw new TableTrouble('TimedOut', refusal.detail)
      await session.end('ROLLBACK')
      return 'refused'
    }
  }
}
