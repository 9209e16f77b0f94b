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

it('tables prints the one table of what containers cost, and the right to add to it, for a process of dispatch', async () => {
  const postgres = { host: 'db', database: 'bills', user: 'dispatch' }
  const dispatch = {
    ...{ clusterId: 'zzzzz', tokenFile: 'token', tenantsKeyPrefix: 'skylab-tenants', billAmounts: true },
    ...{ InstanceTypes: {}, Containers: { DispatchPrivateKey: 'key' } },
    CloudVMs: { Driver: 'loopback', DriverParameters: { Directory: '/cloud' } },
  }
  const config = { run: ['dispatch'], dispatch, tenants: { billing: { driver: 'postgres', postgres } } }
  const { code, out, err } = await test.run('tables', '--config', await test.file('dispatch.yaml', config))
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('CREATE TABLE "public"."tenant_billing_machines" (')
  expect(out).toContain('GRANT INSERT ON "public"."tenant_billing_machines" TO "dispatch";')
  expect(out).not.toMatch(/_head|_log|SELECT/)
})
