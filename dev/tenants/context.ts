/** What all steps of the demo of tenants share. */
import type { DemoOptions } from '../demo/options.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'
import type { TenantSite } from './site.ts'

/** The LNamespace of the demo. */
export const tenant = 'blue'

export interface TenantsContext extends TenantSite {
  readonly options: DemoOptions
  /** As the administrator. */
  readonly admin: Kubectl
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}
