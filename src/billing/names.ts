/** Names of tables, matched and quoted: they come from the configuration, and are the only words of a statement that do. Pure. */

import { tableForm } from '../config/billing.ts'

export interface TableNames {
  readonly rows: string
  readonly head: string
  readonly log: string
  /** The table of the costs of machines. */
  readonly machines: string
}

/**
 * @param quote of one name, such as by `"`
 * @param before quoted names of what contains the tables
 * @throws for what the schema refuses
 */
export function tableNames(table: string, quote: '"' | '`', before: readonly string[] = []): TableNames {
  if (!tableForm.test(table)) throw new Error(`not the name of a table: ${JSON.stringify(table)}`)
  const named = (name: string) => {
    // BigQuery quotes the whole path at once.
    if (quote === '`') return `\`${[...before, name].join('.')}\``
    return [...before, name].map(each => `"${each}"`).join('.')
  }
  return {
    rows: named(table),
    head: named(`${table}_head`),
    log: named(`${table}_log`),
    machines: named(`${table}_machines`),
  }
}
