/** PostgreSQL of a test file, with the tables of bills. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Postgres, type PostgresOptions, startPostgres } from '../../../dev/postgres/postgres.ts'
import { definitionOf } from '../../../src/billing/postgres/statements.ts'

export const billTable = 'tenant_billing'

/** With the tables, as an operator makes them for the program's user. */
export const startBills = (options: PostgresOptions): Promise<Postgres> =>
  startPostgres({ ...options, statements: definitionOf('public', billTable, 'skylab') })

export interface OwnPostgres {
  readonly postgres: Postgres
  /** For files of the test. */
  readonly folder: string
  stop(): Promise<void>
}

/** Of a hook that starts one: a second, but for a machine that has other things to do. */
export const startLimitMs = 60_000

/** In a folder of its own, for unit tests. */
export async function ownPostgres(tls?: (folder: string) => PostgresOptions['tls']): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'skylab-postgres-'))
  const postgres = await startBills({ stateDir: folder, tls: tls?.(folder) })
  return {
    postgres,
    folder,
    stop: async () => {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The block `tenants.billing` for it; the password is in a file of the folder. */
export function billingConfig({ host, port, database, user }: Postgres, folder: string) {
  const passwordFile = join(folder, `password-${port}`)
  writeFileSync(passwordFile, `${user}\n`, { mode: 0o600 })
  return {
    driver: 'postgres',
    timeoutSeconds: 3,
    postgres: { host, port, database, user, passwordFile, tls: 'disable' },
  } as const
}

/** Rows of the table as `name.key=value`, by name. */
export async function billsIn(postgres: Postgres, start = ''): Promise<readonly string[]> {
  const rows = await postgres.query<{ row: string }>(
    `SELECT ns_name || '.' || name || '=' || value AS row FROM ${billTable} WHERE ns_name LIKE $1 ORDER BY 1`,
    [`${start}%`],
  )
  return rows.map(({ row }) => row)
}
