/** The words of the scheduler: what it is given, and what it decides. Pure. All times are Redis' clock. */

/** The needs of a container. Containers of the same shape share one object. */
export interface Need {
  readonly vcpus: number
  readonly ramBytes: number
  readonly scratchBytes: number
  readonly gpus: number
  readonly preemptible: boolean
}

/** A type of machine that the operator offers. */
export interface MachineType {
  readonly name: string
  /** Types of a group share a quota of the cloud. */
  readonly group: string
  readonly vcpus: number
  readonly ramBytes: number
  readonly scratchBytes: number
  readonly gpus: number
  readonly preemptible: boolean
  /** For an hour. */
  readonly price: number
}

/** A container that did not end, and that no machine was asked to run yet. */
export interface Waiting {
  readonly uuid: string
  /** A key of `Input.shapes`. */
  readonly shape: string
  readonly tenant: string
  /** 0 to 1000; 0 is not scheduled. */
  readonly priority: number
  readonly queuedMs: number
  /** How often a machine was asked to run it. */
  readonly attempts: number
  /** It runs other containers, and waits for them. */
  readonly supervisor: boolean
}

/** A container of a machine. Before its start is `sent`, the scheduler may take it back; after that, only proof frees it. */
export interface Assigned {
  readonly uuid: string
  readonly sent: boolean
  readonly supervisor: boolean
  readonly need: Need
}

export type MachineState = 'creating' | 'unknown' | 'booting' | 'idle' | 'running' | 'shutdown'

/** A machine that is not gone by proof. */
export interface Machine {
  readonly id: string
  /** The name of a type, perhaps of one that is no longer offered. */
  readonly type: string
  /** The tenant of its last container. All that it has at a time are of one. */
  readonly tenant: string
  readonly state: MachineState
  /** When this state began. */
  readonly sinceMs: number
  /** Its last good probe. */
  readonly probedMs: number
  readonly idleBehavior: 'run' | 'hold' | 'drain'
  readonly broken: boolean
  readonly containers: readonly Assigned[]
}

export interface TenantLimits {
  readonly maxInstances?: number
  readonly maxPricePerHour?: number
}

/** The operator's settings, by Arvados' names. */
export interface Rules {
  readonly maxInstances: number
  readonly maxConcurrentInstanceCreateOps: number
  readonly maximumPriceFactor: number
  readonly maxDispatchAttempts: number
  /** So many containers may share a machine. */
  readonly maxContainersPerMachine: number
  /** The share of `maxInstances` that supervisors may have. One may always run. */
  readonly supervisorFraction: number
  /** How many containers may have a machine (`containersLimit`). Default: no limit. */
  readonly maxContainers?: number
  readonly reserveExtraRamBytes: number
  readonly timeoutIdleMs: number
  readonly timeoutBootingMs: number
  readonly timeoutProbeMs: number
  readonly tenants: ReadonlyMap<string, TenantLimits>
}

/** Learnt from the cloud's errors, for all replicas. `afterCreate` writes it. */
export interface Throttle {
  /** No creation before this time. */
  readonly createAfterMs: number
  /** The cloud refused, and no creation has succeeded since: unused machines go at once. */
  readonly hurry: boolean
  /** By group: how many machines it had when the cloud said that its quota is used up. */
  readonly quotas: ReadonlyMap<string, { readonly count: number; readonly untilMs: number }>
  /** By type: the cloud had none. */
  readonly capacity: ReadonlyMap<string, { readonly untilMs: number; readonly failures: number }>
}

export interface Input {
  readonly shapes: ReadonlyMap<string, Need>
  readonly queue: readonly Waiting[]
  readonly machines: readonly Machine[]
  readonly types: readonly MachineType[]
  readonly rules: Rules
  readonly throttle: Throttle
  readonly nowMs: number
}

export type ShutdownReason = 'idle' | 'room' | 'drain' | 'broken' | 'boot' | 'unreachable' | 'type'

export interface Placed {
  readonly container: string
  readonly machine: string
}

/** Containers of one shape and tenant that wait for the same reason. Supervisors have one of their own. */
export interface Status {
  readonly shape: string
  readonly tenant: string
  readonly supervisor: boolean
  readonly sentence: string
  readonly waiting: number
}

/** They hold together: a writer takes back before it assigns. */
export interface Decisions {
  readonly unassign: readonly Placed[]
  readonly assign: readonly Placed[]
  /** A new machine, with the containers that it is for: the first one needs it, and the others fit beside that. */
  readonly create: readonly { readonly type: string; readonly containers: readonly string[]; readonly tenant: string }[]
  readonly shutdown: readonly { readonly machine: string; readonly why: ShutdownReason }[]
  readonly fail: readonly { readonly container: string; readonly why: string }[]
  readonly statuses: readonly Status[]
  /** When a pass may decide something else, if nothing but time changes. */
  readonly dueMs: number | undefined
}
