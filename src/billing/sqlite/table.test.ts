import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, expect, test } from 'vitest'
import { bill } from '../../../test/kit/billing/bills.ts'
import { describeTable } from '../../../test/kit/billing/contract.ts'
import { SqliteTable } from './table.ts'

const folder = mkdtempSync(join(tmpdir(), 'skylab-bills-'))
let number = 0
const opened: SqliteTable[] = []
afterEach(async () => {
  for (const table of opened.splice(0)) await table.rest()
})
afterAll(() => rmSync(folder, { recursive: true }))

function open() {
  number += 1
  const file = join(folder, `${number}.db`)
  const table = new SqliteTable({ file, table: 'T', log: true, cluster: 'test' })
  opened.push(table)
  return { table, file }
}

describeTable(
  'the table of bills in SQLite',
  async () => {
    const { table, file } = open()
    await table.read()
    const ask = <Row>(text: string) => {
      const database = new DatabaseSync(file)
      try {
        return database.prepare(text).all() as Row[]
      } finally {
        database.close()
      }
    }
    return {
      table,
      rows: async () =>
        ask('SELECT ns_uid, ns_name, name, value FROM T').map(row => ({ ...(row as never as object) })) as never,
      log: async () =>
        ask<{ closed: number }>('SELECT ns_uid, generation, revision, closed FROM T_log').map(row => ({
          ...row,
          closed: row.closed === 1,
        })) as never,
      change: async statement => ask(statement),
    }
  },
  20,
)

test('write waits for nobody when another one writes', async () => {
  const { table, file } = open()
  await table.read()
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  await expect(table.write([bill()])).rejects.toMatchObject({ reason: 'TimedOut' })
  other.exec('COMMIT')
  other.close()
  expect(await table.write([bill()])).toEqual(['written'])
})

test('a file that cannot be made is reported as unreachable', async () => {
  const table = new SqliteTable({ file: join(folder, 'none', 'x.db'), table: 'T', log: true, cluster: 'test' })
  await expect(table.read()).rejects.toMatchObject({ reason: 'Unreachable' })
})
