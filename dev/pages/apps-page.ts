/** Puts the list of acceptance into docs/apps.md. Pure. */
import { appRows } from '../../test/integration/apps/seed-rows.ts'
import { rowsTable, withTables } from './tables.ts'

export const appsPage = (page: string): string => withTables('apps.md', page, { rows: () => rowsTable(appRows) })
