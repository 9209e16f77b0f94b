/** Puts the table of bad input that a test sends into docs/apps-resource.md. Pure. */
import { badApps, oddApps } from '../../test/integration/apps/definition.cases.ts'
import { tableOf, withTables } from './tables.ts'

export const appsResourcePage = (page: string): string => withTables('apps-resource.md', page, tables)

const tables: Readonly<Record<string, () => string>> = {
  'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], [...refused(), ...accepted()]),
}

const refused = () => badApps.map(({ sent, words }) => [sent, `422: ${words}`, 'nothing'])
const accepted = () => oddApps.map(({ sent, words }) => [sent, '201', words])
