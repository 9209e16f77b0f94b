/** Tables that tests try, in pages of the documentation. Pure. */
import { basename } from 'node:path'
import type { SeedRow } from '../../test/integration/tenants/seed-rows.ts'

/** Text in a cell of Markdown. */
const cell = (text: string) => text.replaceAll('|', '\\|')

export const tableOf = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...lines].map(cells => `| ${cells.map(cell).join(' | ')} |`).join('\n')

/**
 * A page with its tables, each between two comments that name it.
 * @throws if the page lacks one
 */
export const withTables = (name: string, page: string, tables: Readonly<Record<string, () => string>>): string =>
  Object.entries(tables).reduce((text, [table, make]) => {
    const block = new RegExp(`(<!-- ${table} -->\n)[^]*?(<!-- /${table} -->)`)
    if (!block.test(text)) throw new Error(`docs/${name} has no table ${table}`)
    return text.replace(block, (_, begin, end) => `${begin}${make()}\n${end}`)
  }, page)

/** The list of acceptance. */
export const rowsTable = (rows: readonly SeedRow[]): string =>
  tableOf(['', 'what', 'shown by', 'departs'], rows.map(rowLine))

const rowLine = ({ id, what, tests, departs = '' }: SeedRow) => [
  id,
  what,
  tests.map(([file, title]) => `[${basename(file, '.test.ts')}](../${file}): ${title}`).join('<br>'),
  departs,
]
