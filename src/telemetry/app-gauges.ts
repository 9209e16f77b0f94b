/** Metrics of apps that are computed at each scrape, from what the watches show: no call of a server. */
import { Gauge, type Registry } from 'prom-client'

export interface AppCensus {
  readonly phases: Readonly<Record<string, number>>
  readonly conditions: Readonly<Record<string, number>>
}

export interface AppGaugeSources {
  apps(): AppCensus
  /** Undefined before the first check. */
  policyActive(): boolean | undefined
}

/** Each replica reports what it sees, so all report the same values. */
export function createAppGauges(registry: Registry, { apps, policyActive }: AppGaugeSources): void {
  const registers = [registry]
  new Gauge({
    name: 'skylab_apps',
    help: 'PhApplications by phase (Starting, Ready, Updating, Stopping, Stopped, Error; Unknown: none yet); every replica reports the same values',
    labelNames: ['phase'] as const,
    registers,
    collect() {
      this.reset()
      for (const [phase, count] of Object.entries(apps().phases)) this.set({ phase }, count)
    },
  })
  new Gauge({
    name: 'skylab_app_conditions',
    help: 'PhApplications of which a condition is true, by condition (Reconciled, Available, Pruned, Conflict, QuotaExceeded, RoutesPending); every replica reports the same values',
    labelNames: ['condition'] as const,
    registers,
    collect() {
      this.reset()
      for (const [condition, count] of Object.entries(apps().conditions)) this.set({ condition }, count)
    },
  })
  new Gauge({
    name: 'skylab_app_policy_active',
    help: 'Whether the admission policy of apps was in force at the last check (1), or not (0); missing before the first one',
    registers,
    collect() {
      const isActive = policyActive()
      if (isActive === undefined) this.remove()
      else this.set(isActive ? 1 : 0)
    },
  })
}
