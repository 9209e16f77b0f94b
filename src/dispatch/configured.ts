/** The scheduler's part of the configuration. Pure. */
import { type DispatchConfig, mostPerMachine } from '../config/dispatch.ts'
import type { MachineType, Rules } from './types.ts'

/** A type of machine, with what its cloud must know to make one. */
export interface OfferedType extends MachineType {
  readonly providerType: string
  /** A disk of this size is added to each. */
  readonly addedScratchBytes: number
}

/**
 * The types that are offered, by name.
 * @param quotaGroup types of a group share a quota of the cloud; it is given the cloud's name of a type, and whether that is preemptible
 */
export function typesOf(
  { InstanceTypes }: Pick<DispatchConfig, 'InstanceTypes'>,
  quotaGroup: (providerType: string, preemptible: boolean) => string,
): ReadonlyMap<string, OfferedType> {
  return new Map(
    Object.entries(InstanceTypes).map(([name, type]) => {
      const providerType = type.ProviderType || name
      const offered: OfferedType = {
        ...{ name, providerType, group: quotaGroup(providerType, type.Preemptible) },
        ...{ vcpus: type.VCPUs, ramBytes: type.RAM, gpus: type.GPU.DeviceCount },
        ...{ scratchBytes: type.IncludedScratch + type.AddedScratch, addedScratchBytes: type.AddedScratch },
        ...{ preemptible: type.Preemptible, price: type.Price },
      }
      return [name, offered]
    }),
  )
}

export function rulesOf({ CloudVMs, Containers, tenants }: DispatchConfig): Rules {
  return {
    maxInstances: orNone(CloudVMs.MaxInstances),
    maxConcurrentInstanceCreateOps: orNone(CloudVMs.MaxConcurrentInstanceCreateOps),
    maximumPriceFactor: Containers.MaximumPriceFactor,
    maxDispatchAttempts: Containers.MaxDispatchAttempts,
    maxContainersPerMachine: containersPerMachine(CloudVMs.MaxRunningContainersPerInstance),
    supervisorFraction: CloudVMs.SupervisorFraction,
    reserveExtraRamBytes: Containers.ReserveExtraRAM,
    timeoutIdleMs: CloudVMs.TimeoutIdle,
    timeoutBootingMs: CloudVMs.TimeoutBooting,
    timeoutProbeMs: CloudVMs.TimeoutProbe,
    tenants: new Map(
      Object.entries(tenants).map(([name, { maxInstances, maxPricePerHour }]) => [
        name,
        {
          ...(maxInstances !== undefined && { maxInstances }),
          ...(maxPricePerHour !== undefined && { maxPricePerHour }),
        },
      ]),
    ),
  }
}

const containersPerMachine = (limit: number) => (limit === 0 ? mostPerMachine : limit)

/** In Arvados' configuration, 0 is no limit. */
const orNone = (limit: number) => (limit === 0 ? Number.POSITIVE_INFINITY : limit)
