/** The present cost of machines, by type and tenant. Tenants are those of the configuration, and so no people, and few. */
import { Gauge, type Registry } from 'prom-client'

/** A machine that is not gone by proof. */
export interface Priced {
  readonly type: string
  readonly tenant: string
  /** For an hour. */
  readonly price: number
}

export interface CostSources {
  /** @throws when Redis does not answer: then the metric has no values */
  machines(): Promise<readonly Priced[]>
  /** Names that may be labels. */
  readonly types: ReadonlySet<string>
  readonly tenants: ReadonlySet<string>
}

/** The label of machines whose type or tenant the configuration does not name any more. */
const other = 'other'

export function createCostGauge(registry: Registry, { machines, types, tenants }: CostSources): void {
  new Gauge({
    name: 'skylab_dispatch_price_per_hour',
    help: 'Price of all machines for an hour, by type and by the tenant of their last container; other: those that the configuration does not name. Every replica reports the same value',
    labelNames: ['instance_type', 'tenant'] as const,
    registers: [registry],
    async collect() {
      const found = await machines().catch(() => [])
      this.reset()
      for (const { type, tenant, price } of found) {
        const labels = { instance_type: types.has(type) ? type : other, tenant: tenants.has(tenant) ? tenant : other }
        this.inc(labels, price)
      }
    },
  })
}
