/** The two statements of BigQuery: constant but for the names of tables. Values are typed parameters. Pure. */
import { datasetForm, projectForm } from '../../config/billing.ts'
import { tableNames } from '../names.ts'

export interface Statements {
  readonly write: string
  readonly read: string
}

/** @throws for what the schema refuses */
export function statementsOf(projectId: string, dataset: string, table: string): Statements {
  if (!projectForm.test(projectId) || !datasetForm.test(dataset)) throw new Error('not the name of a dataset')
  const { rows, head, log } = tableNames(table, '`', [projectId, dataset])
  // No key is enforced: of two heads the closed one counts, then the newer one.
  const one = `(SELECT * FROM ${head} WHERE TRUE QUALIFY ROW_NUMBER() OVER (PARTITION BY ns_uid
  ORDER BY closed_at IS NOT NULL DESC, generation DESC, revision DESC) = 1)`
  return {
    // All bills at once, since each statement takes seconds. The fence is the condition of `claimed`: two transactions that
    // change the heads conflict, and BigQuery ends one of them.
    write: `BEGIN TRANSACTION;
CREATE TEMP TABLE claimed AS
SELECT b.ns_uid, b.ns_name, b.ends, b.billing,
  IF(b.ends, IFNULL(h.generation, 0), b.generation) AS generation,
  IF(b.ends, IFNULL(h.revision, 0), b.revision) AS revision
FROM UNNEST(@bills) AS b LEFT JOIN ${one} AS h ON h.ns_uid = b.ns_uid
WHERE h.ns_uid IS NULL OR (h.closed_at IS NULL AND (b.ends OR h.generation < b.generation
  OR (h.generation = b.generation AND h.revision < b.revision)));
MERGE ${head} AS h USING claimed AS c ON h.ns_uid = c.ns_uid
WHEN MATCHED THEN UPDATE SET ns_name = c.ns_name, cluster = @cluster, generation = c.generation, revision = c.revision,
  closed_at = IF(c.ends, CURRENT_TIMESTAMP(), NULL)
WHEN NOT MATCHED THEN INSERT (ns_uid, ns_name, cluster, generation, revision, closed_at)
VALUES (c.ns_uid, c.ns_name, @cluster, c.generation, c.revision, IF(c.ends, CURRENT_TIMESTAMP(), NULL));
IF @log THEN
  INSERT INTO ${log} (ns_uid, ns_name, cluster, generation, revision, closed, billing, logged_at)
  SELECT ns_uid, ns_name, @cluster, generation, revision, ends, billing, CURRENT_TIMESTAMP() FROM claimed;
END IF;
DELETE FROM ${rows} WHERE ns_uid IN (SELECT ns_uid FROM claimed);
INSERT INTO ${rows} (ns_name, name, value, ns_uid)
SELECT c.ns_name, l.name, l.value, c.ns_uid FROM UNNEST(@lines) AS l JOIN claimed AS c ON c.ns_uid = l.ns_uid;
COMMIT TRANSACTION;
SELECT h.ns_uid, c.ns_uid IS NOT NULL AS written, h.generation, h.revision, h.closed_at IS NOT NULL AS closed
FROM UNNEST(@bills) AS b JOIN ${one} AS h ON h.ns_uid = b.ns_uid LEFT JOIN claimed AS c ON c.ns_uid = b.ns_uid;`,
    read: `SELECT h.ns_uid, h.ns_name, h.generation, h.revision, r.name, r.value, r.ns_name AS named
FROM ${one} AS h LEFT JOIN ${rows} AS r ON r.ns_uid = h.ns_uid
WHERE h.cluster = @cluster AND h.closed_at IS NULL`,
  }
}

/** Statements that make the tables. BigQuery enforces no key: the fence needs none. */
export function definitionOf(projectId: string, dataset: string, table: string): readonly string[] {
  const { rows, head, log } = tableNames(table, '`', [projectId, dataset])
  return [
    `CREATE TABLE ${rows} (ns_name STRING NOT NULL, name STRING NOT NULL, value STRING NOT NULL, ns_uid STRING NOT NULL)`,
    `CREATE TABLE ${head} (ns_uid STRING NOT NULL, ns_name STRING NOT NULL, cluster STRING NOT NULL, generation INT64 NOT NULL, revision INT64 NOT NULL, closed_at TIMESTAMP)`,
    `CREATE TABLE ${log} (ns_uid STRING NOT NULL, ns_name STRING NOT NULL, cluster STRING NOT NULL, generation INT64 NOT NULL, revision INT64 NOT NULL, closed BOOL NOT NULL, billing STRING NOT NULL, logged_at TIMESTAMP NOT NULL)`,
  ]
}
