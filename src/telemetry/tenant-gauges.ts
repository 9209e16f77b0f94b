/** Metrics of tenants that are computed at each scrape, from what the watches show: no call of a server. */
import { Gauge, type Registry } from 'prom-client'

export interface TenantCensus {
  /** LNamespaces by the conditions that are true, and `Exists` for all of them. */
  readonly conditions: Readonly<Record<string, number>>
  /** Grants of sudo with an end that run. */
  readonly grants: number
  /** Users who could use sudo although neither list nor grant gives it. */
  readonly overdue: number
}

export interface TenantGaugeSources {
  tenants(): TenantCensus
  /** Undefined before the first check. */
  policyActive(): boolean | undefined
  /** Undefined before the first comparison, or without any. */
  vetDifferences(): number | undefined
}

/** Each replica reports what it sees, so all report the same values. */
export function createTenantGauges(
  registry: Registry,
  { tenants, policyActive, vetDifferences }: TenantGaugeSources,
): void {
  const registers = [registry]
  new Gauge({
    name: 'skylab_tenants',
    help: 'LNamespaces of which a condition is true, by condition (Exists: all of them; Accepted, NamespaceReady, AccessReady, Ready); every replica reports the same values',
    labelNames: ['condition'] as const,
    registers,
    collect() {
      this.reset()
      for (const [condition, count] of Object.entries(tenants().conditions)) this.set({ condition }, count)
    },
  })
  new Gauge({
    name: 'skylab_tenant_sudo_grants',
    help: 'Grants of sudo with an end that run; every replica reports the same value',
    registers,
    collect() {
      this.set(tenants().grants)
    },
  })
  new Gauge({
    name: 'skylab_tenant_sudo_overdue',
    help: 'Users who may use sudo in a namespace although neither its list nor a grant says so any more; above 0 for a second at most',
    registers,
    collect() {
      this.set(tenants().overdue)
    },
  })
  new Gauge({
    name: 'skylab_tenant_policy_active',
    help: 'Whether the admission policies of tenants were in force at the last check (1), or not (0); missing before the first one',
    registers,
    collect() {
      const isActive = policyActive()
      if (isActive === undefined) this.remove()
      else this.set(isActive ? 1 : 0)
    },
  })
  new Gauge({
    name: 'skylab_vet_differences',
    help: 'Differences between the rights and kinds of the cluster and those that were vetted, at the last comparison; missing before the first one',
    registers,
    collect() {
      const count = vetDifferences()
      if (count === undefined) this.remove()
      else this.set(count)
    },
  })
}
