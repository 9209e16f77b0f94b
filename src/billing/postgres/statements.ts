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

function grantsTo(user: string, schema: string, { rows, head, log }: TableNames): readonly string[] {
  const name = `"${user.replaceAll('"', '""')}"`
  return [
    `GRANT USAGE ON SCHEMA "${schema}" TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${rows} TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE ON ${head} TO ${name}`,
    `GRANT INSERT ON ${log} TO ${name}`,
  ]
}
