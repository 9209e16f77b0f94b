/** Metrics of a process that stops notebooks, computed at each scrape: no call of a server. */
import { Gauge, type Registry } from 'prom-client'

export interface NotebookGaugeSources {
  /** Undefined before the first check. */
  policyActive(): boolean | undefined
}

export function createNotebookGauges(registry: Registry, { policyActive }: NotebookGaugeSources): void {
  new Gauge({
    name: 'skylab_notebook_policy_active',
    help: 'Whether the admission policy of notebooks was in force at the last check (1), or not (0); missing before the first one',
    registers: [registry],
    collect() {
      const isActive = policyActive()
      if (isActive === undefined) this.remove()
      else this.set(isActive ? 1 : 0)
    },
  })
}
