/** Puts the tables that tests try into docs/idle.md: bad input, and the list of acceptance. Pure. */
import { idleRows } from '../../test/integration/idle/seed-rows.ts'
import { type BadInput, badInput } from '../../test/kit/api/activity-bad-input.ts'
import { rowsTable, tableOf, withTables } from './tables.ts'

export const idlePage = (page: string): string => withTables('idle.md', page, tables)

const tables: Readonly<Record<string, () => string>> = {
  'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], badInput.map(line)),
  rows: () => rowsTable(idleRows),
}

const line = ({ sent, status, type, loc }: BadInput) => [
  sent,
  `${status} \`${type}\`${loc ? ` at \`${loc.join('.')}\`` : ''}`,
  'nothing',
]
