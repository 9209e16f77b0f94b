import { afterAll, beforeAll, expect, it } from 'vitest'
import { CommandTest } from './testing/command.ts'

let test: CommandTest
beforeAll(async () => {
  test = await CommandTest.start()
})
afterAll(() => test.stop())

const tables = async (billing: object | undefined) => {
  const config = { run: ['tenants'], tenants: billing === undefined ? {} : { billing } }
  return test.run('tables', '--config', await test.file('skylab.yaml', config))
}

it('tables prints the tables of PostgreSQL, and the least rights of the user', async () => {
  const postgres = { host: 'db', database: 'bills', user: 'sky"lab' }
  const { code, out, err } = await tables({ driver: 'postgres', table: 'bill', postgres })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('CREATE TABLE "public"."bill_head" (')
  expect(out).toContain('GRANT SELECT, INSERT, UPDATE ON "public"."bill_head" TO "sky""lab";')
  expect(out).toContain('GRANT INSERT ON "public"."bill_log" TO "sky""lab";')
})

it('tables prints the tables of BigQuery', async () => {
  const { code, out } = await tables({ driver: 'bigquery', bigquery: { projectId: 'p', dataset: 'd' } })
  expect(code).toBe(0)
  expect(out).toContain('CREATE TABLE `p.d.tenant_billing_head` (ns_uid STRING NOT NULL')
})

it.each([
  ['no bills are sent', undefined, 'not set'],
  ['the driver makes its own', { driver: 'sqlite', sqlite: { file: 'x' } }, 'makes its tables itself'],
  ['something is missing', { driver: 'postgres' }, 'tenants.billing.postgres.host: is missing, here or by PGHOST'],
])('tables exits 2 when %s', async (_, billing, words) => {
  const { code, out, err } = await tables(billing)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(words)
})
