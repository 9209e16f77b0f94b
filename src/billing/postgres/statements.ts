/** The statements of PostgreSQL: constant but for the names of tables. Values are parameters. Pure. */
import { type TableNames, tableNames } from '../names.ts'

export interface Statements {
  readonly claim: string
  readonly close: string
  readonly standing: string
  readonly log: string
  readonly remove: string
  readonly upsert: string
  readonly read: string
}

export function statementsOf(schema: string, table: string): Statements {
  const { rows, head, log } = tableNames(table, '"', [schema])
  return {
    // The fence. Whoever claims a row has it until the end of his transaction; the next statement sees what stood before.
    claim: `INSERT INTO ${head} AS h (ns_uid, ns_name, cluster, generation, revision) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (ns_uid) DO UPDATE
SET ns_name = EXCLUDED.ns_name, cluster = EXCLUDED.cluster, generation = EXCLUDED.generation, revision = EXCLUDED.revision
WHERE h.closed_at IS NULL AND (h.generation, h.revision) < (EXCLUDED.generation, EXCLUDED.revision)
RETURNING h.generation, h.revision`,
    close: `INSERT INTO ${head} AS h (ns_uid, ns_name, cluster, generation, revision, closed_at)
VALUES ($1, $2, $3, 0, 0, now())
ON CONFLICT (ns_uid) DO UPDATE SET closed_at = now() WHERE h.closed_at IS NULL
RETURNING h.generation, h.revision`,
    standing: `SELECT generation, revision, closed_at IS NOT NULL AS closed FROM ${head} WHERE ns_uid = $1`,
    log: `INSERT INTO ${log} (ns_uid, ns_name, cluster, generation, revision, closed, billing)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
    remove: `DELETE FROM ${rows} WHERE ns_uid = $1 AND name <> ALL ($2::text[])`,
    upsert: `INSERT INTO ${rows} (ns_uid, ns_name, name, value)
SELECT $1, $2, each.name, each.value FROM unnest($3::text[], $4::text[]) AS each (name, value)
ON CONFLICT (ns_uid, name) DO UPDATE SET ns_name = EXCLUDED.ns_name, value = EXCLUDED.value`,
    read: `SELECT h.ns_uid, h.ns_name, h.generation, h.revision, r.name, r.value, r.ns_name AS named
FROM (SELECT * FROM ${head} WHERE cluster = $1 AND closed_at IS NULL AND ns_uid > $2 ORDER BY ns_uid LIMIT $3) AS h
LEFT JOIN ${rows} AS r ON r.ns_uid = h.ns_uid ORDER BY h.ns_uid`,
  }
}

/** Statements that make the tables, and the least rights of the user of this program. */
export function definitionOf(schema: string, table: string, user: string | undefined): readonly string[] {
  const names = tableNames(table, '"', [schema])
  return [...tablesOf(names), ...(user === undefined ? [] : grantsTo(user, schema, names))]
}

const tablesOf = ({ rows, head, log }: TableNames): readonly string[] => [
  `CREATE TABLE ${rows} (
  ns_name text NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  ns_uid text NOT NULL,
  PRIMARY KEY (ns_uid, name)
)`,
  `CREATE TABLE ${head} (
  ns_uid text PRIMARY KEY,
  ns_name text NOT NULL,
  cluster text NOT NULL,
  generation bigint NOT NULL,
  revision bigint NOT NULL,
  closed_at timestamptz
)`,
  `CREATE TABLE ${log} (
  ns_uid text NOT NULL,
  ns_name text NOT NULL,
  cluster text NOT NULL,
  generation bigint NOT NULL,
  revision bigint NOT NULL,
  closed boolean NOT NULL,
  billing text NOT NULL,
  logged_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (ns_uid, generation, revision, closed)
)`,
]

/** The same for the costs of machines. Their writer needs no right to the other tables. */
export function amountsDefinitionOf(schema: string, table: string, user: string | undefined): readonly string[] {
  const { machines } = tableNames(table, '"', [schema])
  const grants = user === undefined ? [] : [useOf(schema, user), `GRANT INSERT ON ${machines} TO ${quoted(user)}`]
  return [
    `CREATE TABLE ${machines} (
  container text PRIMARY KEY,
  ns_name text NOT NULL,
  instance_type text NOT NULL,
  price_per_hour double precision NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz NOT NULL,
  cost double precision NOT NULL
)`,
    ...grants,
  ]
}

/** Adds lines of `amountsDefinitionOf`. A line that exists stays as it is: nothing is counted twice. No right to read is needed. */
export function amountsStatementOf(schema: string, table: string): string {
  const { machines } = tableNames(table, '"', [schema])
  return `INSERT INTO ${machines} (container, ns_name, instance_type, price_per_hour, started_at, finished_at, cost)
SELECT each.container, each.ns_name, each.instance_type, each.price, to_timestamp(each.started / 1000.0),
  to_timestamp(each.finished / 1000.0), each.cost
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::float8[], $7::float8[])
  AS each (container, ns_name, instance_type, price, started, finished, cost)
ON CONFLICT DO NOTHING`
}

const quoted = (user: string) => `"${user.replaceAll('"', '""')}"`
const useOf = (schema: string, user: string) => `GRANT USAGE ON SCHEMA "${schema}" TO ${quoted(user)}`

function grantsTo(user: string, schema: string, { rows, head, log }: TableNames): readonly string[] {
  const name = quoted(user)
  return [
    useOf(schema, user),
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${rows} TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE ON ${head} TO ${name}`,
    `GRANT INSERT ON ${log} TO ${name}`,
  ]
}
