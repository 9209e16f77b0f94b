/** The bill of the demo of tenants, as it is in a real PostgreSQL. */
import { waitUntil } from '../process/api-client.ts'
import { type TenantsContext, tenant } from './context.ts'
import { billTable } from './site.ts'
import { type } from './steps.ts'

type Show = (text: string) => void
type Bills = Pick<TenantsContext, 'postgres' | 'signal'>

/** A bill is sent within a second; the end of an LNamespace is seen by a watch. */
const limitMs = 20_000

/** The rows as `KEY=VALUE`. */
export async function bill({ postgres }: Pick<Bills, 'postgres'>): Promise<readonly string[]> {
  const rows = await postgres.query<{ row: string }>(
    `SELECT name || '=' || value AS row FROM ${billTable} WHERE ns_name = $1 ORDER BY 1`,
    [tenant],
  )
  return rows.map(({ row }) => row)
}

/** The lines of the log, as `GENERATION BILLING`; the last one says `closed` where it ended. */
export async function log({ postgres }: Pick<Bills, 'postgres'>): Promise<readonly string[]> {
  const rows = await postgres.query<{ line: string }>(
    `SELECT generation || ' ' || CASE WHEN closed THEN 'closed' ELSE billing END AS line FROM ${billTable}_log
WHERE ns_name = $1 ORDER BY logged_at, generation`,
    [tenant],
  )
  return rows.map(({ line }) => line)
}

/** Waits until the table has these rows, and shows it as psql does. */
export async function showTable(context: Bills, show: Show, expected: readonly string[]): Promise<readonly string[]> {
  const what = `the bill ${expected.join(', ') || 'without a row'}`
  await waitUntil(async () => (await bill(context)).join() === expected.join(), {
    ...{ what, limitMs, signal: context.signal },
  })
  const query = `SELECT ns_name, name, value FROM ${billTable} ORDER BY 1, 2`
  const printed = await context.postgres.psql(query)
  show(`  operator$ psql bills -c '${query}'\n${indented(printed)}`)
  return expected
}

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')

/** ada says who pays. @returns the rows */
export async function billTo(
  context: Bills & Pick<TenantsContext, 'people' | 'admin'>,
  show: Show,
): Promise<readonly string[]> {
  const patch = JSON.stringify({ spec: { billing: { project: 'survey' } } })
  await type(context.people.ada, ['sudo', 'patch', 'lns', tenant, '--type=merge', '-p', patch], show)
  const rows = await showTable(context, show, ['cost-center=4711', 'project=survey'])
  const what = `the condition Billed of ${tenant}`
  const billed = ['get', 'lns', tenant, '-o', 'jsonpath={.status.conditions[?(@.type=="Billed")].status}']
  await waitUntil(async () => (await context.admin(billed)).trim() === 'True', {
    what,
    limitMs,
    signal: context.signal,
  })
  await type(context.people.ada, ['get', 'lns', tenant, '-o', 'wide'], show)
  return rows
}
