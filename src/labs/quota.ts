/** What a user's quota makes of a lab's resources (SQR-066, "Resource quotas"). Pure. */
import type { NotebookQuota, Quotas, Resources } from '../domain.ts'
import { formatBytes, formatCpu } from '../kube/quantity.ts'

/** What a container may use: limits, and what a node sets aside for it. */
export interface ContainerSize {
  readonly limits: Resources
  /** Default: a quarter of the limits. */
  readonly requests?: Resources | undefined
}

/** Limits and requests of what is configured. */
export function quotasOf({ limits, requests }: ContainerSize): Quotas {
  return { limits, requests: requests ?? quarterOf(limits) }
}

/** Kubernetes has no finer share than a thousandth of a CPU, and no part of a byte. */
function quarterOf({ cpu, memory }: Resources): Resources {
  return { cpu: Math.ceil(cpu * 250) / 1000, memory: Math.ceil(memory / 4) }
}

/** Whether the cluster counts what this user's pods use; each of their containers must then say what that is. */
export function isCounted(quota: NotebookQuota | undefined): boolean {
  return quota?.cpu !== undefined || quota?.memoryBytes !== undefined
}

/** The `spec` of the ResourceQuota: all pods of the user's namespace together have no more than one lab may have. */
export function resourceQuotaSpec({ cpu, memoryBytes }: NotebookQuota): object {
  return {
    hard: {
      ...(cpu !== undefined && { 'limits.cpu': formatCpu(cpu), 'requests.cpu': formatCpu(cpu) }),
      ...(memoryBytes !== undefined && {
        'limits.memory': formatBytes(memoryBytes),
        'requests.memory': formatBytes(memoryBytes),
      }),
    },
  }
}

/** The same, but no more than a quota allows: the cluster refuses a pod of which one container wants more. */
export function withinQuota({ limits, requests }: Quotas, quota: NotebookQuota | undefined): Quotas {
  const most = { cpu: quota?.cpu ?? Number.POSITIVE_INFINITY, memory: quota?.memoryBytes ?? Number.POSITIVE_INFINITY }
  const bounded = leastOf(limits, most)
  return { limits: bounded, requests: leastOf(requests, bounded) }
}

function leastOf(a: Resources, b: Resources): Resources {
  return { cpu: Math.min(a.cpu, b.cpu), memory: Math.min(a.memory, b.memory) }
}

/** The `resources` of a container. */
export function containerResources({ limits, requests }: Quotas): object {
  return { limits: quantities(limits), requests: quantities(requests) }
}

function quantities({ cpu, memory }: Resources): object {
  return { cpu: formatCpu(cpu), memory: formatBytes(memory) }
}
