/** Metrics of the bills of tenants, which a process has only where it sends them. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface BillingSources {
  readonly driver: string
  /** Undefined where another replica sends. */
  depth(): { readonly depth: number; readonly oldestMs: number } | undefined
}

export type BillingMetrics = ReturnType<typeof createBillingMetrics>

export function createBillingMetrics(registry: Registry, { driver, depth }: BillingSources) {
  const registers = [registry]
  new Gauge({
    name: 'skylab_billing_outbox_depth',
    help: 'Bills that wait to be sent; only the replica that sends has it',
    registers,
    collect() {
      const found = depth()
      if (found) this.set(found.depth)
      else this.remove()
    },
  })
  new Gauge({
    name: 'skylab_billing_oldest_seconds',
    help: 'Age of the oldest bill that waits; only the replica that sends has it',
    registers,
    collect() {
      const found = depth()
      if (found) this.set(found.oldestMs / 1000)
      else this.remove()
    },
  })
  const metrics = {
    bills: new Counter({
      name: 'skylab_billing_bills_total',
      help: 'Answers of the database to bills, by driver (postgres, bigquery, sqlite) and result (written; same: it had been written, and the answer was lost; older: something newer stands; closed: the end of that LNamespace stands; refused)',
      labelNames: ['driver', 'result'] as const,
      registers,
    }),
    failures: new Counter({
      name: 'skylab_billing_failures_total',
      help: 'Calls of the database of bills that failed, by driver and reason (Unreachable, TimedOut, AccessDenied, TableMissing, Refused)',
      labelNames: ['driver', 'reason'] as const,
      registers,
    }),
    compares: new Counter({
      name: 'skylab_billing_compares_total',
      help: 'Compares of the table of bills with the LNamespaces, by driver and result (same, different, failed)',
      labelNames: ['driver', 'result'] as const,
      registers,
    }),
  } // So that the first one is an increase.
  for (const result of ['written', 'same', 'older', 'closed', 'refused']) metrics.bills.inc({ driver, result }, 0)
  for (const result of ['same', 'different', 'failed']) metrics.compares.inc({ driver, result }, 0)
  return metrics
}
