/** The block `tenants.billing`: where the bills of namespaces go, and who pays where an LNamespace says nothing. */
import { z } from 'zod'
import { isLoopback } from '../base/loopback.ts'
import { seconds } from './values.ts'

export const billingDrivers = ['postgres', 'bigquery', 'sqlite'] as const
export type BillingDriver = (typeof billingDrivers)[number]

/** The environment may give these names too, and each is matched again where it is put into a statement. */
export const tableForm = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/
export const projectForm = /^[a-z0-9.:-]{1,100}$/
export const datasetForm = /^[A-Za-z0-9_]{1,1024}$/

/** The name of a table or of what contains it. It is quoted too. */
const sqlName = z.string().regex(tableForm, { error: 'not a name of letters, digits and _ with at most 50 characters' })

/** As the definition of LNamespaces has them. */
export const billingKey = /^[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$/
export const mostBillingKeys = 32
export const longestBillingValue = 256
/** What is neither printed nor stored. */
export const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

const billing = z
  .record(
    z.string().regex(billingKey, { error: 'not a key of billing: at most 63 of a-z, 0-9, -, _ and .' }),
    z
      .string()
      .max(longestBillingValue)
      .refine(text => !unprintable.test(text), { error: 'contains a control character or an invisible one' }),
  )
  .refine(entries => Object.keys(entries).length <= mostBillingKeys, { error: `has more than ${mostBillingKeys} keys` })

/** A user or a group, by the cluster's name. */
const subject = z
  .string()
  .min(1)
  .max(256)
  .refine(text => !unprintable.test(text), { error: 'contains a control character or an invisible one' })

const rule = z.strictObject({
  users: z.array(subject).default([]).describe('requesters of LNamespaces, by the cluster’s names'),
  groups: z
    .array(subject)
    .default([])
    .describe(
      'groups of requesters; admission notes those of them that a requester has, as `skylab rights` names them',
    ),
  billing: billing.describe('what their namespaces are billed to'),
})

const postgres = z.strictObject({
  host: z.string().min(1).max(253).optional().describe('the server; default: `PGHOST`'),
  port: z.number().int().min(1).max(65_535).optional().describe('default: `PGPORT`, else 5432'),
  database: z.string().min(1).max(63).optional().describe('default: `PGDATABASE`'),
  user: z.string().min(1).max(63).optional().describe('default: `PGUSER`'),
  passwordFile: z.string().optional().describe('a file with the password; default: `PGPASSWORD`, else none is sent'),
  schema: sqlName.default('public').describe('the schema of the tables'),
  tls: z
    .enum(['verify-full', 'disable'])
    .default('verify-full')
    .describe('`verify-full`: the certificate must be of a known authority and of this host; `disable`: in the clear'),
  caFile: z.string().optional().describe('PEM of the authorities that sign it, in place of the usual ones'),
})

/** Of Google, as its documentation has them. */
const project = z.string().regex(projectForm, { error: 'not the id of a project' })
const dataset = z.string().regex(datasetForm, { error: 'not the name of a dataset' })

/** Whether nobody is between. */
function isSafe(text: string): boolean {
  const { protocol = '', host = '' } = URL.parse(text) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(host))
}

const bigquery = z.strictObject({
  projectId: project.optional().describe('default: `NC_PROJECT_ID`'),
  dataset: dataset.optional().describe('default: `NC_BIGQUERY_DATASET_NAME`'),
  location: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,40}$/, { error: 'not a location' })
    .optional()
    .describe('of the dataset, such as `europe-west1`; default: Google finds it'),
  credentialsFile: z
    .string()
    .optional()
    .describe('the JSON key of a service account; default: application default credentials'),
  endpoint: z
    .url()
    .refine(isSafe, { error: 'is not https: whoever is between could read the token' })
    .default('https://bigquery.googleapis.com')
    .describe('of the API; `http` for this machine alone'),
})

const sqlite = z.strictObject({
  file: z.string().min(1).describe('the database; its tables are made in it. For one replica, and for tests'),
})

export const tenantBilling = z.strictObject({
  driver: z.enum(billingDrivers).describe('where the bills go; its block has the settings'),
  table: sqlName
    .optional()
    .describe(
      'the table of bills; `…_head` and `…_log` are beside it; default: `NC_BIGQUERY_TABLE_NAME` for BigQuery, else `tenant_billing`',
    ),
  log: z.boolean().default(true).describe('keep each generation in `…_log`, which is only appended to'),
  cluster: z
    .string()
    .regex(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/, { error: 'not a name of at most 63 characters' })
    .optional()
    .describe(
      'the name of this cluster in `…_head`, by which several share a table; default: the UID of its namespace `kube-system`',
    ),
  defaults: z
    .array(rule)
    .max(100)
    .default([])
    .describe(
      'billing of LNamespaces by who asked for them: the first rule that fits adds the keys that `spec.billing` lacks; one without users and groups fits all',
    ),
  compareSeconds: seconds(300).describe('interval of comparing the table with the LNamespaces'),
  timeoutSeconds: seconds(10).describe('limit of a connection, and of each statement'),
  postgres: postgres.prefault({}).describe('for `driver: postgres`'),
  bigquery: bigquery.prefault({}).describe('for `driver: bigquery`'),
  sqlite: sqlite.optional().describe('for `driver: sqlite`'),
})

export type BillingConfig = z.infer<typeof tenantBilling>
