/** Where bills go: the block `tenants.billing` with what the environment adds to it, checked. */
import { isLoopback } from '../base/loopback.ts'
import type { BigQueryPlace, PostgresPlace } from '../billing/places.ts'
import {
  type BillingConfig,
  type BillingDriver,
  datasetForm,
  projectForm,
  tableForm,
  tenantBilling,
} from '../config/billing.ts'
import type { Config } from '../config/schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

export type BillingTarget =
  | (PostgresPlace & { readonly driver: 'postgres'; readonly schema: string })
  | (BigQueryPlace & { readonly driver: 'bigquery' })
  | { readonly driver: 'sqlite'; readonly file: string }

export interface BillingSettings {
  readonly target: BillingTarget
  readonly table: string
}

/** Reads files that keys of the configuration name. */
interface Reader {
  present(key: string, path: string | undefined): Promise<string | undefined>
  authorities(key: string, path: string | undefined): Promise<string | undefined>
  writable(key: string, path: string | undefined): Promise<string | undefined>
}

const at = 'tenants.billing'
/** Of the first release of LNamespaces: the bills were on if all three were set. */
const bigQueryNames = ['NC_PROJECT_ID', 'NC_BIGQUERY_DATASET_NAME', 'NC_BIGQUERY_TABLE_NAME'] as const
const defaultTable = 'tenant_billing'

/** The configuration with the bills that the environment alone wants: those of an older release, by BigQuery. */
export function withBillingOf(env: Environment, config: Config): Config {
  const { tenants, run } = config
  if (tenants.billing || !run.includes('tenants') || !bigQueryNames.every(name => env[name])) return config
  const billing = tenantBilling.parse({ driver: 'bigquery' })
  return { ...config, tenants: { ...tenants, billing } }
}

/** Whether a process writes what containers cost. */
export const billsAmounts = ({ run, dispatch }: Pick<Config, 'run' | 'dispatch'>): boolean =>
  run.includes('dispatch') && dispatch?.billAmounts === true

/** Whether a process needs the database: it sends bills, or what containers cost. Others leave the block alone. */
const usesTables = (config: Pick<Config, 'run' | 'dispatch'>): boolean =>
  config.run.includes('tenants') || billsAmounts(config)

/** @returns a line for each thing that the bills lack, without the files */
export function billingProblems(config: Config, env: Environment): string[] {
  const { billing } = config.tenants
  if (!billing || !usesTables(config)) return []
  const problems: string[] = []
  void targetOf(billing, env, problems)
  return problems
}

/** Where bills go, without the files; undefined where none are sent. */
export function billingTarget(
  given: Config,
  env: Environment,
): BillingSettings | { readonly problems: readonly string[] } | undefined {
  const { billing } = withBillingOf(env, given).tenants
  if (!billing) return undefined
  const problems: string[] = []
  const target = targetOf(billing, env, problems)
  return target ? { target, table: tableOf(billing, env) } : { problems }
}

export function billingWarnings(config: Config, env: Environment): string[] {
  const { billing } = config.tenants
  if (!usesTables(config)) return []
  const some = bigQueryNames.filter(name => env[name])
  if (!billing) {
    const isSome = some.length > 0 && some.length < bigQueryNames.length
    return isSome ? [`${some.join(', ')}: without ${missing(some).join(', ')} no bills are sent`] : []
  }
  const { driver, postgres, sqlite } = billing
  const host = postgres.host ?? env.PGHOST ?? ''
  return [
    ...(driver === 'postgres' && postgres.tls === 'disable' && !isLoopback(host) && !host.startsWith('/')
      ? [`${at}.postgres.tls: is disable, so whoever is between reads the password and the bills, and can change them`]
      : []),
    ...(driver === 'sqlite' && sqlite
      ? [`${at}.driver: is sqlite, which is for tests and for one replica: each replica has a file of its own`]
      : []),
  ]
}

const missing = (some: readonly string[]) => bigQueryNames.filter(name => !some.includes(name))

/** @returns undefined where something is missing: that is a problem then */
export async function readBilling(
  config: Config,
  env: Environment,
  reader: Reader,
): Promise<BillingSettings | undefined> {
  const { billing } = config.tenants
  const target = billing && usesTables(config) ? targetOf(billing, env, []) : undefined
  if (!billing || !target) return undefined
  const table = tableOf(billing, env)
  switch (target.driver) {
    case 'postgres': {
      const key = `${at}.postgres`
      const passwordFile = await reader.present(`${key}.passwordFile`, target.passwordFile)
      const authorities = await reader.authorities(`${key}.caFile`, billing.postgres.caFile ?? env.PGSSLROOTCERT)
      return { table, target: { ...target, passwordFile, authorities } }
    }
    case 'bigquery': {
      const credentialsFile = await reader.present(`${at}.bigquery.credentialsFile`, target.credentialsFile)
      return { table, target: { ...target, credentialsFile } }
    }
    case 'sqlite':
      return { table, target: { ...target, file: (await reader.writable(`${at}.sqlite.file`, target.file)) ?? '' } }
  }
}

const tableOf = ({ driver, table }: BillingConfig, env: Environment): string =>
  table ?? ((driver === 'bigquery' && env.NC_BIGQUERY_TABLE_NAME) || defaultTable)

const targets: Readonly<
  Record<BillingDriver, (billing: BillingConfig, env: Environment, need: Need) => BillingTarget>
> = {
  postgres: ({ postgres }, env, need) => {
    const { schema, tls, passwordFile, caFile: _, ...named } = postgres
    return {
      driver: 'postgres',
      host: need('postgres.host', named.host ?? env.PGHOST, 'PGHOST'),
      port: named.port ?? portOf(env.PGPORT, need),
      database: need('postgres.database', named.database ?? env.PGDATABASE, 'PGDATABASE'),
      user: need('postgres.user', named.user ?? env.PGUSER, 'PGUSER'),
      ...{ schema, tls: tls === 'verify-full', passwordFile, password: env.PGPASSWORD },
    }
  },
  bigquery: ({ bigquery }, env, need) => ({
    driver: 'bigquery',
    projectId: need('bigquery.projectId', bigquery.projectId ?? env.NC_PROJECT_ID, 'NC_PROJECT_ID'),
    dataset: need('bigquery.dataset', bigquery.dataset ?? env.NC_BIGQUERY_DATASET_NAME, 'NC_BIGQUERY_DATASET_NAME'),
    ...{ location: bigquery.location, credentialsFile: bigquery.credentialsFile, endpoint: bigquery.endpoint },
  }),
  sqlite: ({ sqlite }, _, need) => ({ driver: 'sqlite', file: need('sqlite.file', sqlite?.file) }),
}

type Need = (key: string, value: string | undefined, variable?: string) => string

function portOf(text: string | undefined, need: Need): number {
  if (!text) return 5432
  const isPort = /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 65_535
  return isPort ? Number(text) : Number(need('postgres.port', undefined, 'a usable PGPORT'))
}

const forms: Readonly<Record<string, RegExp>> = {
  'bigquery.projectId': projectForm,
  'bigquery.dataset': datasetForm,
}

function targetOf(billing: BillingConfig, env: Environment, problems: string[]): BillingTarget | undefined {
  const before = problems.length
  const need: Need = (key, value, variable) => {
    if (value && (forms[key]?.test(value) ?? true)) return value
    const remedy = variable === undefined ? '' : `, here or by ${variable}`
    const what = value ? 'is not usable' : 'is missing'
    problems.push(`${at}.${key}: ${what}${remedy}; the driver ${billing.driver} needs it`)
    return ''
  }
  const target = targets[billing.driver](billing, env, need)
  if (!tableForm.test(tableOf(billing, env))) {
    problems.push(`${at}.table: NC_BIGQUERY_TABLE_NAME is not a name of letters, digits and _`)
  }
  return problems.length > before ? undefined : target
}
