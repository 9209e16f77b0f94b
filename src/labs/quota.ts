/** Resources of a lab by its size and its user's quota (SQR-066, "Resource quotas"). Pure. */
import type { NotebookQuota, Quotas, Resources } from '../base/domain.ts'
import { formatBytes, formatCpu } from '../base/quantity.ts'

/** Resources, and bytes of the node's disk. */
interface Amounts extends Resources {
  readonly storage?: number | undefined
}

/** Resources of a container: limits, and the requests that a node sets aside. */
export interface ContainerSize {
  readonly limits: Amounts
  /** Default: a quarter of the limits, and no disk. */
  readonly requests?: Amounts | undefined
}

/** Bytes of the node's disk: the limit of a container, and the request that a node sets aside. */
export interface Storage {
  readonly limit: number
  readonly request: number
}

/** Limits and requests of a size. */
export function quotasOf({ limits, requests }: ContainerSize): Quotas {
  return { limits: resourcesOf(limits), requests: requests ? resourcesOf(requests) : quarterOf(limits) }
}

/**
 * By default nothing is requested, so that as many labs fit on a node as before; the limit bounds them all the same.
 */
export function storageOf({ limits, requests }: ContainerSize, byDefault: number): Storage {
  return { limit: limits.storage ?? byDefault, request: requests?.storage ?? 0 }
}

function resourcesOf({ cpu, memory }: Amounts): Resources {
  return { cpu, memory }
}

/** The smallest amounts in Kubernetes are a thousandth of a CPU and one byte. */
function quarterOf({ cpu, memory }: Resources): Resources {
  return { cpu: Math.ceil(cpu * 250) / 1000, memory: Math.ceil(memory / 4) }
}

/** Whether the cluster counts the resources of this user's pods; each of their containers must then declare them. */
export function isCounted(quota: NotebookQuota | undefined): boolean {
  return quota?.cpu !== undefined || quota?.memoryBytes !== undefined
}

/**
 * The `spec` of the ResourceQuota: all pods of the user's namespace together get no more than one lab may have.
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

/** The same, within a quota: the cluster refuses a pod with a container above it. */
export function withinQuota({ limits, requests }: Quotas, quota: NotebookQuota | undefined): Quotas {
  const most = { cpu: quota?.cpu ?? Number.POSITIVE_INFINITY, memory: quota?.memoryBytes ?? Number.POSITIVE_INFINITY }
  const bounded = leastOf(limits, most)
  return { limits: bounded, requests: leastOf(requests, bounded) }
}

function leastOf(a: Resources, b: Resources): Resources {
  return { cpu: Math.min(a.cpu, b.cpu), memory: Math.min(a.memory, b.memory) }
}

/**
 * The `resources` of a container. The request of disk is always set: Kubernetes would default it to the limit.
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
