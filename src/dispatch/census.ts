/** Counts of machines and queue, for metrics. Pure. */

export const instanceCategories = ['inuse', 'hold', 'booting', 'unknown', 'idle'] as const
export type InstanceCategory = (typeof instanceCategories)[number]

type ByCategory = Readonly<Record<InstanceCategory, number>>

/** One value for each type of machine. */
export interface TypeCensus {
  readonly instances_total: ByCategory
  readonly instances_price: ByCategory
  readonly vcpus_total: ByCategory
  readonly memory_bytes_total: ByCategory
}

/** Counts of the installation, by Arvados' names without their prefix: the same for every replica, but for the limit. */
export interface DispatchCensus {
  readonly containers_running: number
  readonly containers_allocated_not_started: number
  readonly containers_not_allocated_over_quota: number
  readonly containers_longest_wait_time_seconds: number
  /** 0 without a limit; undefined while another replica schedules. */
  readonly max_concurrent_containers: number | undefined
  /** 1 while the cloud refuses new machines, for their number or its rate. */
  readonly at_quota: 0 | 1
  readonly probe_age_seconds_max: number
  readonly probe_age_seconds_median: number
  /** By type of machine; those without machines too. */
  readonly byType: ReadonlyMap<string, TypeCensus>
  /** Machines whose state nobody knows: after a loss of data, or since they answer no more. */
  readonly inDoubt: number
}
