/** Puts the tables that tests try into docs/tenants.md: who may do what, bad input, and the list of acceptance. Pure. */
import { accepted, type Row, rows } from '../../test/integration/tenants/bad-input.cases.ts'
import { matrix, type PersonName, persons } from '../../test/integration/tenants/matrix.cases.ts'
import { seedRows } from '../../test/integration/tenants/seed-rows.ts'
import { rowsTable, tableOf, withTables } from './tables.ts'

/** The page with its tables. */
export const tenantsPage = (page: string): string => withTables('tenants.md', page, tables)

const tables: Readonly<Record<string, () => string>> = {
  persons: () => tableOf(['', 'who'], Object.entries(persons)),
  matrix: () => {
    const names = Object.keys(persons) as readonly PersonName[]
    const lines = matrix.map(({ question, answers }) => [`\`${question}\``, ...names.map(name => sign(answers[name]))])
    return tableOf(['`kubectl auth can-i …`', ...names], lines)
  },
  'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], badInput()),
  rows: () => rowsTable(seedRows),
}

const sign = (answer: string) => (answer === 'yes' ? 'yes' : '')

const badInput = () => [
  ...rows.map(row => [row.sent, answerOf(row), row.left ?? 'nothing']),
  ...accepted.map(({ sent, answer, left }) => [sent, answer, left]),
]

function answerOf({ answer: [status, words], condition }: Row): string {
  if (!condition) return `${status}: ${words}`
  const [type, reason, text] = condition
  return `${status}, then \`${type}\` is False: **${reason}** (${text})`
}
