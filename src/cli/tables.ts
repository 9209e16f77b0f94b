/** `skylab tables`: prints the statements that make the tables of bills. The program itself has no right to make them. */
import { definitionOf as ofBigQuery } from '../billing/bigquery/statements.ts'
import { amountsDefinitionOf, definitionOf as ofPostgres } from '../billing/postgres/statements.ts'
import { ConfigError } from '../config/problems.ts'
import { billingTarget, billsAmounts } from '../settings/billing.ts'
import { readConfig } from '../settings/config-file.ts'
import { codes, type Output } from './output.ts'

const none = 'tenants.billing: not set, so there are no tables of bills'
const ofItself = 'tenants.billing.driver: sqlite makes its tables itself'

/**
 * Prints the statements as SQL, with the least rights of the user of the program. A process that writes what containers cost needs
 * that table alone.
 * @returns the exit code
 * @throws {ConfigError} when the file is wrong, or has no bills
 */
export async function showTables(
  { config: file }: { readonly config: string },
  env: Readonly<Record<string, string | undefined>>,
  { out }: Output,
): Promise<number> {
  const config = await readConfig(file)
  const found = billingTarget(config, env)
  if (!found) throw new ConfigError(file, [none])
  if ('problems' in found) throw new ConfigError(file, found.problems)
  const { target, table } = found
  if (target.driver === 'sqlite') throw new ConfigError(file, [ofItself])
  const statements =
    target.driver === 'postgres'
      ? (billsAmounts(config) ? amountsDefinitionOf : ofPostgres)(target.schema, table, target.user)
      : ofBigQuery(target.projectId, target.dataset, table)
  out(statements.map(statement => `${statement};\n`).join('\n'))
  return codes.ok
}
