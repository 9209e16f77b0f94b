/** What a user's quota makes of a lab's resources (SQR-066, "Resource quotas"). Pure. */
import type { NotebookQuota, Quotas, Resources } from '../base/domain.ts'
import { formatBytes, formatCpu } from '../base/quantity.ts'

/** Resources, and bytes of the node's disk. */
interface Amounts extends Resources {
  readonly storage?: number | undefined
}

/** What a container may use: limits, and what a node sets aside for it. */
export interface ContainerSize {
  readonly limits: Amounts
  /** Default: a quarter of the limits, and no disk. */
  readonly requests?: Amounts | undefined
}

/** Bytes of the node's disk: what a container can fill, and what a node sets aside for it. */
export interface Storage {
  readonly limit: number
  readonly request: number
}

/** Limits and requests of what is configured. */
export function quotasOf({ limits, requests }: ContainerSize): Quotas {
  return { limits: resourcesOf(limits), requests: requests ? resourcesOf(requests) : quarterOf(limits) }
}

/** Nothing is set aside by default: labs that fitted on a node still do, and the limit bounds them all the same. */
export function storageOf({ limits, requests }: ContainerSize, byDefault: number): Storage {
  return { limit: limits.storage ?? byDefault, request: requests?.storage ?? 0 }
}

function resourcesOf({ cpu, memory }: Amounts): Resources {
  return { cpu, memory }
}

/** Kubernetes has no finer share than a thousandth of a CPU, and no part of a byte. */
function quarterOf({ cpu, memory }: Resources): Resources {
  return { cpu: Math.ceil(cpu * 250) / 1000, memory: Math.ceil(memory / 4) }
}

/** Whether the cluster counts what this user's pods use; each of their containers must then say what that is. */
export function isCounted(quota: NotebookQuota | undefined): boolean {
  return quota?.cpu !== undefined || quota?.memoryBytes !== undefined
}

/**
 * The `spec` of the ResourceQuota: all pods of the user's namespace together have no more than one lab may have.
 * @param storage bytes of disk
 */
export function resourceQuotaSpec({ cpu, memoryBytes }: NotebookQuota, storage: number): object {
  return {
    hard: {
      ...(cpu !== undefined && { 'limits.cpu': formatCpu(cpu), 'requests.cpu': formatCpu(cpu) }),
      ...(memoryBytes !== undefined && {
        'limits.memory': formatBytes(memoryBytes),
        'requests.memory': formatBytes(memoryBytes),
      }),
      'limits.ephemeral-storage': formatBytes(storage),
      'requests.ephemeral-storage': formatBytes(storage),
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

/**
 * The `resources` of a container. A request of disk is always said: Kubernetes would take the limit for it.
 * @param quotas undefined where only the disk is bounded
 */
export function containerResources(quotas: Quotas | undefined, storage: Storage): object {
  return { limits: quantities(quotas?.limits, storage.limit), requests: quantities(quotas?.requests, storage.request) }
}

function quantities(resources: Resources | undefined, storage: number): object {
  const { cpu, memory } = resources ?? {}
  return {
    ...(cpu !== undefined && { cpu: formatCpu(cpu) }),
    ...(memory !== undefined && { memory: formatBytes(memory) }),
    'ephemeral-storage': formatBytes(storage),
  }
}
