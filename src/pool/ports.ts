/** What the pool needs of the store: readings of queue and machines, conditional writes, and the throttle of all replicas. */
import type { MachineBrief } from '../dispatch/container.ts'
import type { Need, ShutdownReason, Throttle } from '../dispatch/types.ts'

/** A container that waits: queued, or assigned to a machine that was not asked yet. */
export interface WaitingBrief {
  readonly uuid: string
  /** The id of its group. */
  readonly group: string
  readonly priority: number
  readonly queuedMs: number
  readonly attempts: number
  readonly version: number
}

/** Containers with the same need, tenant and role. */
export interface GroupReading {
  readonly id: string
  readonly need: Need
  readonly tenant: string
  readonly supervisor: boolean
  /** Of all that wait. */
  readonly count: number
  /** The most urgent ones, in order. */
  readonly head: readonly WaitingBrief[]
}

export interface DispatchReading {
  /** False when another holds the lease: nothing else counts then. */
  readonly held: boolean
  readonly nowMs: number
  readonly groups: readonly GroupReading[]
  /** Those of machines that were not asked yet, where no head has them. */
  readonly assigned: readonly WaitingBrief[]
  readonly machines: readonly MachineBrief[]
  readonly throttle: Throttle
  /** Containers up to this op are not touched: what runs after a loss of Redis is not known yet. 0 when it is. */
  readonly heldOp: number
}

interface OfBoth {
  readonly container: string
  readonly containerVersion: number
  readonly machine: string
  readonly machineVersion: number
}

/** One write, with the versions that it was decided by. */
export type Decision =
  | ({ readonly kind: 'unassign' } & OfBoth)
  | ({ readonly kind: 'assign' } & OfBoth)
  | {
      readonly kind: 'create'
      readonly container: string
      readonly containerVersion: number
      readonly type: string
      readonly tenant: string
    }
  | {
      readonly kind: 'shutdown'
      readonly machine: string
      readonly machineVersion: number
      readonly why: ShutdownReason
    }
  | { readonly kind: 'fail'; readonly container: string; readonly containerVersion: number; readonly why: string }
