import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { FakeBigQuery, type Fault } from '../../../test/kit/billing/bigquery.ts'
import { bill, end } from '../../../test/kit/billing/bills.ts'
import { describeTable } from '../../../test/kit/billing/contract.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { bigQueryTable } from './open.ts'
import { statementsOf } from './statements.ts'

const folder = mkdtempSync(join(tmpdir(), 'skylab-bigquery-'))
const signal = new AbortController().signal
let fake: FakeBigQuery
beforeAll(async () => {
  fake = await FakeBigQuery.start()
})
beforeEach(() => {
  fake.database.exec('DELETE FROM T; DELETE FROM T_head; DELETE FROM T_log')
  fake.requestIds.splice(0)
})
afterEach(() => {
  fake.next.splice(0)
  fake.pageRows = Number.POSITIVE_INFINITY
})
afterAll(async () => {
  await fake.close()
  rmSync(folder, { recursive: true })
})

/** Waits between attempts pass at once. */
function open(timeoutMs = 2_000) {
  const credentialsFile = join(folder, 'key.json')
  writeFileSync(credentialsFile, fake.credentials)
  return bigQueryTable({
    place: { projectId: 'project', dataset: 'dataset', endpoint: fake.url, credentialsFile },
    ...{ table: 'T', log: true, cluster: 'test', timeoutMs, clock: new ManualClock({ runs: true }) },
  })
}

const ask = (text: string) =>
  fake.database
    .prepare(text)
    .all()
    .map(row => ({ ...(row as object) })) as Record<string, never>[]

describeTable(
  'the table of bills in BigQuery',
  async () => ({
    table: open(),
    rows: async () => ask('SELECT ns_uid, ns_name, name, value FROM T') as never,
    log: async () =>
      ask('SELECT ns_uid, generation, revision, closed FROM T_log').map(row => ({
        ...row,
        closed: row.closed === 1,
      })) as never,
    change: async statement => ask(statement),
  }),
  10,
)

test.each<[Fault[]]>([
  [['token-refused']],
  [['unavailable']],
  [['conflict', 'conflict']],
  [['slow-job']],
  [['answer-lost']],
])('write is done in spite of %s', async faults => {
  const table = open()
  await table.write([bill()], signal)
  fake.next.push(...faults)
  expect(await table.write([bill({ generation: 2 })], signal)).toEqual(['written'])
  expect(ask('SELECT generation FROM T_log')).toEqual([{ generation: 1 }, { generation: 2 }])
})

test.each<[Fault[], string]>([
  [['unavailable', 'unavailable', 'unavailable'], 'Unreachable'],
  [['rate-limited'], 'Unreachable'],
  [['conflict', 'conflict', 'conflict', 'conflict'], 'TimedOut'],
  [['denied'], 'AccessDenied'],
  [['missing'], 'TableMissing'],
  [['hangs'], 'TimedOut'],
  [['too-much'], 'Unreachable'],
  [['rubbish'], 'Unreachable'],
])('write tells of %j that it is %s, without an address or a word of the server', async (faults, reason) => {
  fake.next.push(...faults)
  const error = await open(faults.includes('hangs') ? 500 : 10_000)
    .write([bill()], signal)
    .then(String, each => each)
  expect(error).toMatchObject({ name: 'TableTrouble', reason })
  expect(error.message).not.toMatch(/127\.0\.0\.1|project|html/)
  expect(`${error.detail} ${error.message}`).not.toContain('PRIVATE')
})

test('a query whose answer was lost has the same id again, and any other one another', async () => {
  const table = open(500)
  fake.next.push('hangs')
  await expect(table.write([bill()], signal)).rejects.toMatchObject({ reason: 'TimedOut' })
  fake.next.push('answer-lost')
  // It ran once: a second run would have found it written.
  expect(await table.write([bill()], signal)).toEqual(['written'])
  await table.write([bill({ generation: 2 })], signal)
  fake.next.push('conflict')
  await table.write([end()], signal)
  expect(new Set(fake.requestIds).size).toBe(3)
  expect(fake.requestIds).toHaveLength(5)
})

test('a read has no id, and takes none from a write that was not answered', async () => {
  const table = open(500)
  fake.next.push('hangs')
  await expect(table.write([bill()], signal)).rejects.toMatchObject({ reason: 'TimedOut' })
  await table.read(signal)
  expect(await table.write([bill()], signal)).toEqual(['written'])
  expect(fake.requestIds).toHaveLength(2)
})

test('two heads of the same UID count as one', async () => {
  const table = open()
  await table.write([bill()], signal)
  fake.database.exec('INSERT INTO T_head SELECT * FROM T_head')
  expect(await table.write([bill({ generation: 2, billing: { a: '2' } })], signal)).toEqual(['written'])
  expect(ask('SELECT generation FROM T_log')).toEqual([{ generation: 1 }, { generation: 2 }])
  expect(ask('SELECT name FROM T')).toEqual([{ name: 'a' }])
  const { read, write } = statementsOf('project', 'dataset', 'T')
  expect([read, write].map(text => text.split('QUALIFY ROW_NUMBER()').length)).toEqual([2, 3])
})

test('read takes all pages', async () => {
  const table = open()
  const many = Array.from({ length: 25 }, (_, i) => bill({ uid: `u${i}`, name: `t${i}` }))
  await table.write(many, signal)
  fake.pageRows = 7
  expect((await table.read(signal)).size).toBe(25)
})

test('statementsOf takes no name that could end its quotes', () => {
  expect(() => statementsOf('p`; DROP', 'd', 'T')).toThrow()
  expect(() => statementsOf('p', 'd`', 'T')).toThrow()
  expect(() => statementsOf('p', 'd', 'T`')).toThrow()
  expect(statementsOf('my-project', 'd', 'T').write).toContain('MERGE `my-project.d.T_head` AS h')
})
