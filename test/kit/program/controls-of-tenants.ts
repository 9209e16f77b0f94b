/** Controls of tenants: `src/tenants`, what serves them, and the policies of `k8s/components/tenants`. */
import type { Control } from './control.ts'

export const controlsOfTenants: readonly Control[] = []
