/** Metrics of what containers cost tenants, which a process has only where it writes that. */
import { Counter, type Registry } from 'prom-client'

export type AmountMetrics = ReturnType<typeof createAmountMetrics>

export function createAmountMetrics(registry: Registry) {
  const registers = [registry]
  const metrics = {
    amounts: new Counter({
      name: 'skylab_billing_amounts_total',
      help: 'Ended containers of tenants whose cost was sent to the database of bills, by result (sent; refused). One that had a line before is sent too, and changes nothing',
      labelNames: ['result'] as const,
      registers,
    }),
    failures: new Counter({
      name: 'skylab_billing_amount_failures_total',
      help: 'Calls of the database of bills for what containers cost that failed, by reason (Unreachable, TimedOut, AccessDenied, TableMissing, Refused)',
      labelNames: ['reason'] as const,
      registers,
    }),
  }
  // So that the first one is an increase.
  for (const result of ['sent', 'refused']) metrics.amounts.inc({ result }, 0)
  return metrics
}
