/** Puts the tables that tests try into docs/tenants.md: who may do what, bad input, and the list of acceptance. Pure. */
import { basename } from 'node:path'
import { accepted, type Row, rows } from '../../test/integration/tenants/bad-input.cases.ts'
import { matrix, type PersonName, persons } from '../../test/integration/tenants/matrix.cases.ts'
import { type SeedRow, seedRows } from '../../test/integration/tenants/seed-rows.ts'

/** Text in a cell of Markdown. */
const cell = (text: string) => text.replaceAll('|', '\\|')

const tableOf = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...lines].map(cells => `| ${cells.map(cell).join(' | ')} |`).join('\n')

/** The page with its tables, each between two comments that name it. */
export const tenantsPage = (page: string): string =>
  Object.entries(tables).reduce((text, [name, table]) => {
    const block = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`)
    if (!block.test(text)) throw new Error(`docs/tenants.md has no table ${name}`)
    return text.replace(block, (_, begin, end) => `${begin}${table()}\n${end}`)
  }, page)

const tables: Readonly<Record<string, () => string>> = {
  persons: () => tableOf(['', 'who'], Object.entries(persons)),
  matrix: () => {
    const names = Object.keys(persons) as readonly PersonName[]
    const lines = matrix.map(({ question, answers }) => [`\`${question}\``, ...names.map(name => sign(answers[name]))])
    return tableOf(['`kubectl auth can-i …`', ...names], lines)
  },
  'bad-input': () => tableOf(['what is sent', 'what comes back', 'what is left behind'], badInput()),
  rows: () => tableOf(['', 'what', 'shown by', 'departs'], seedRows.map(seedRow)),
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

const seedRow = ({ id, what, tests, departs = '' }: SeedRow) => [
  id,
  what,
  tests.map(([file, title]) => `[${basename(file, '.test.ts')}](../${file}): ${title}`).join('<br>'),
  departs,
]
