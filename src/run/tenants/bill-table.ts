/** Opens the table of bills that the configuration names: of each driver, only that one is loaded. */
import type { Clock } from '../../base/clock.ts'
import type { BillTable } from '../../billing/table.ts'
import type { BillingConfig } from '../../config/billing.ts'
import type { BillingSettings } from '../../settings/billing.ts'

export interface Surroundings {
  readonly clock: Clock
  /** The name of this cluster where the configuration gives none. @throws {RetryLater} */
  readonly clusterUid: () => Promise<string>
}

/** The driver, and the name of the cluster, are found at the first use. */
export function openTable(settings: BillingSettings, config: BillingConfig, around: Surroundings): BillTable {
  let made: Promise<BillTable> | undefined
  const table = () => {
    made ??= makeTable(settings, config, around)
    made.catch(() => {
      made = undefined
    })
    return made
  }
  return {
    write: async (bills, signal) => (await table()).write(bills, signal),
    read: async signal => (await table()).read(signal),
    rest: async () => (await made?.catch(() => undefined))?.rest(),
  }
}

async function makeTable(
  { target, table }: BillingSettings,
  { log, cluster, timeoutSeconds }: BillingConfig,
  { clock, clusterUid }: Surroundings,
): Promise<BillTable> {
  const common = { table, log, cluster: cluster ?? (await clusterUid()) }
  const timeoutMs = timeoutSeconds * 1000
  switch (target.driver) {
    case 'postgres': {
      const { PostgresTable } = await import('../../billing/postgres/table.ts')
      return new PostgresTable({ place: target, schema: target.schema, ...common, timeoutMs })
    }
    case 'bigquery': {
      const { bigQueryTable } = await import('../../billing/bigquery/open.ts')
      return bigQueryTable({ place: target, ...common, timeoutMs, clock })
    }
    case 'sqlite': {
      const { SqliteTable } = await import('../../billing/sqlite/table.ts')
      return new SqliteTable({ file: target.file, ...common })
    }
  }
}
