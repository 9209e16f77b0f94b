/** Joins what writes the cost of containers beside the bills of tenants. Loaded only if the configuration wants it. */
import { AmountSender } from '../../billing/amounts.ts'
import { PostgresAmounts } from '../../billing/postgres/amounts.ts'
import { defaultTenant } from '../../dispatch/container.ts'
import { createAmountMetrics } from '../../telemetry/amount-metrics.ts'
import type { Basics } from '../basics.ts'
import type { Part } from '../part.ts'
import type { DispatchStore } from './store.ts'

export function joinAmounts(
  { settings, config, clock, log, metrics: { registry } }: Basics,
  { ended, leases, keys, connection, bell }: Pick<DispatchStore, 'ended' | 'leases' | 'keys' | 'connection' | 'bell'>,
): Part {
  const { target, table } = settings.billing!
  if (target.driver !== 'postgres') throw new Error(`what containers cost is not written by ${target.driver}`)
  const timeoutMs = config.tenants.billing!.timeoutSeconds * 1000
  const metrics = createAmountMetrics(registry)
  const sender = new AmountSender({
    ...{ clock, log, ended, leases, lease: keys.dispatch.amountLease, nobody: defaultTenant },
    table: new PostgresAmounts({ place: target, schema: target.schema, table, timeoutMs }),
    onSent: (count, result) => metrics.amounts.inc({ result }, count),
    onFailed: reason => metrics.failures.inc({ reason }),
  })
  const offs: (() => void)[] = []
  return {
    start: () => {
      offs.push(
        connection.onMove(() => sender.again()),
        bell.on(({ what }) => {
          if (what === 'ended' || what === 'missed') sender.wake()
        }),
      )
      sender.start()
    },
    stop: async () => {
      for (const off of offs.splice(0)) off()
      await sender.stop()
    },
  }
}
