import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { loadSettings } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'skylab-billing-'))
afterAll(() => rmSync(folder, { recursive: true }))

const quota = { 'requests.cpu': '1' }
async function load(billing: object | undefined, env: Readonly<Record<string, string>> = {}) {
  const file = join(folder, 'skylab.yaml')
  const tenants = { platform: { quota }, ...(billing && { billing }) }
  const config = { run: ['tenants'], lab: { namespacePrefix: 'labs' }, tenants }
  writeFileSync(file, stringify(config))
  return loadSettings(file, env)
}
const problemsOf = (billing: object | undefined, env = {}) =>
  load(billing, env).then(
    () => '',
    error => String(error.message),
  )

const postgres = { host: 'db.example.org', database: 'bills', user: 'skylab' }

describe('tenants.billing', () => {
  test('is off by default', async () => {
    expect((await load(undefined)).billing).toBeUndefined()
  })

  test('has what PostgreSQL needs, with TLS and a password that is read at each connection', async () => {
    writeFileSync(join(folder, 'password'), 'secret')
    const { billing } = await load({ driver: 'postgres', postgres: { ...postgres, passwordFile: 'password' } })
    expect(billing).toEqual({
      table: 'tenant_billing',
      target: {
        ...{ driver: 'postgres', ...postgres, port: 5432, schema: 'public', tls: true },
        passwordFile: join(folder, 'password'),
        ...{ password: undefined, authorities: undefined },
      },
    })
  })

  test('asks BigQuery in the clear on this machine alone', async () => {
    const bigquery = { projectId: 'p', dataset: 'd', endpoint: 'http://127.0.0.1:9050' }
    expect((await load({ driver: 'bigquery', bigquery })).billing?.target).toMatchObject(bigquery)
  })

  test('takes the variables of libpq where it says nothing itself', async () => {
    const env = { PGHOST: 'pg', PGPORT: '6543', PGDATABASE: 'd', PGUSER: 'u', PGPASSWORD: 'p' }
    const { billing } = await load({ driver: 'postgres', postgres: { user: 'mine' } }, env)
    expect(billing?.target).toMatchObject({ host: 'pg', port: 6543, database: 'd', user: 'mine', password: 'p' })
  })

  test('is on by the three variables of the first release alone, and only by all of them', async () => {
    const env = { NC_PROJECT_ID: 'proj', NC_BIGQUERY_DATASET_NAME: 'ds', NC_BIGQUERY_TABLE_NAME: 'tbl' }
    const { billing, config } = await load(undefined, env)
    expect(billing).toMatchObject({ table: 'tbl', target: { driver: 'bigquery', projectId: 'proj', dataset: 'ds' } })
    expect(config.tenants.billing?.driver).toBe('bigquery')
    const { NC_PROJECT_ID: _, ...some } = env
    const partly = await load(undefined, some)
    expect(partly.billing).toBeUndefined()
    expect(partly.warnings).toEqual([expect.stringContaining('without NC_PROJECT_ID no bills are sent')])
  })

  test.each([
    ['the host is missing', { driver: 'postgres' }, {}, 'tenants.billing.postgres.host: is missing, here or by PGHOST'],
    ['the port of the environment is none', { driver: 'postgres', postgres }, { PGPORT: 'x' }, 'a usable PGPORT'],
    ['the file is missing', { driver: 'sqlite' }, {}, 'tenants.billing.sqlite.file: is missing'],
    ['the project is missing', { driver: 'bigquery' }, {}, 'bigquery.projectId: is missing, here or by NC_PROJECT_ID'],
    [
      'a variable could end a quote',
      { driver: 'bigquery' },
      { NC_PROJECT_ID: 'p`', NC_BIGQUERY_DATASET_NAME: 'd', NC_BIGQUERY_TABLE_NAME: 't' },
      'bigquery.projectId: is not usable',
    ],
    [
      'a variable is no name of a table',
      { driver: 'bigquery' },
      { NC_PROJECT_ID: 'p', NC_BIGQUERY_DATASET_NAME: 'd', NC_BIGQUERY_TABLE_NAME: 't; DROP' },
      'NC_BIGQUERY_TABLE_NAME is not a name',
    ],
    [
      'BigQuery is asked in the clear',
      { driver: 'bigquery', bigquery: { endpoint: 'http://bigquery.example.org' } },
      {},
      'tenants.billing.bigquery.endpoint: is not https',
    ],
    [
      'the endpoint of BigQuery is no URL',
      { driver: 'bigquery', bigquery: { endpoint: 'nowhere' } },
      {},
      'tenants.billing.bigquery.endpoint',
    ],
    ['a table has a quote', { driver: 'sqlite', table: 'a"b', sqlite: { file: 'x' } }, {}, 'tenants.billing.table'],
    [
      'a key is none',
      { driver: 'sqlite', sqlite: { file: 'x' }, defaults: [{ billing: { 'A B': '1' } }] },
      {},
      'billing.A B: not a permitted name',
    ],
    [
      'a value has a newline',
      { driver: 'sqlite', sqlite: { file: 'x' }, defaults: [{ billing: { a: '1\n' } }] },
      {},
      'invisible',
    ],
    [
      'a group has a newline',
      { driver: 'sqlite', sqlite: { file: 'x' }, defaults: [{ groups: ['a\nb'], billing: {} }] },
      {},
      'invisible',
    ],
    [
      'the file of the password is gone',
      { driver: 'postgres', postgres: { ...postgres, passwordFile: 'none' } },
      {},
      'passwordFile: the file',
    ],
    [
      'the authority is none',
      { driver: 'postgres', postgres: { ...postgres, caFile: 'skylab.yaml' } },
      {},
      'caFile: the file has no certificate',
    ],
    ['a key is unknown', { driver: 'postgres', postgres, drivers: 1 }, {}, 'drivers'],
  ])('is refused when %s', async (_, billing, env, words) => {
    expect(await problemsOf(billing, env)).toContain(words)
  })

  test('warns of a connection in the clear, and of a file for many replicas', async () => {
    const clear = await load({ driver: 'postgres', postgres: { ...postgres, tls: 'disable' } })
    expect(clear.warnings).toEqual([expect.stringContaining('tenants.billing.postgres.tls: is disable')])
    const near = await load({ driver: 'postgres', postgres: { ...postgres, host: '127.0.0.1', tls: 'disable' } })
    expect(near.warnings).toEqual([])
    const file = await load({ driver: 'sqlite', sqlite: { file: 'bills.db' } })
    expect(file.warnings).toEqual([expect.stringContaining('is sqlite')])
  })
})
