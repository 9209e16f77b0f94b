/** The bill of the tenant, from the tables of a real PostgreSQL, and what its quota counts. */
import type { Kubectl } from '../kube/kubectl.ts'
import type { Postgres } from '../postgres/postgres.ts'
import { billTable } from '../tenants/site.ts'
import type { Amount, Quota } from './report.ts'

const machines = `${billTable}_machines`

/** As an operator asks for all that was used in a time. */
export const billQuery = `SELECT m.ns_name, b.value AS project, count(*) AS containers, sum(m.cost) AS machines
FROM ${machines} AS m LEFT JOIN ${billTable} AS b ON b.ns_name = m.ns_name AND b.name = 'project' GROUP BY 1, 2`

/** What containers of the tenant have cost. */
export async function amountsOf(postgres: Postgres, tenant: string): Promise<readonly Amount[]> {
  return postgres.query<Amount & Record<string, unknown>>(
    `SELECT container, instance_type AS type, cost,
  round(extract(epoch FROM finished_at - started_at)::numeric, 2)::float8 AS seconds
FROM ${machines} WHERE ns_name = $1 ORDER BY container`,
    [tenant],
  )
}

/** What the cluster itself counts. Empty where nobody has made one. */
export async function quotaOf(kubectl: Kubectl, namespace: string): Promise<Quota> {
  const { items } = JSON.parse(await kubectl(['get', 'resourcequotas', '-n', namespace, '-o', 'json'])) as {
    items: { status?: { hard?: Record<string, string>; used?: Record<string, string> } }[]
  }
  const { hard = {}, used = {} } = items[0]?.status ?? {}
  return Object.fromEntries(Object.keys(hard).map(name => [name, { used: used[name] ?? '0', hard: hard[name]! }]))
}
