/** The words of containers: their states, what is shown of one, and what a machine is to run. Pure. Names are Arvados' where clients see them. */
import type { Need } from './types.ts'

export const containerStates = ['Queued', 'Locked', 'Running', 'Complete', 'Cancelled'] as const
export type ContainerState = (typeof containerStates)[number]

/** The tenant of users who are in none that counts. No LNamespace can have this name. */
export const defaultTenant = 'default'

export const isEnded = (state: ContainerState): boolean => state === 'Complete' || state === 'Cancelled'

/** The owner's request, with secret values masked. It never changes. */
export interface ContainerView {
  readonly uuid: string
  readonly owner: string
  readonly command: readonly string[]
  readonly container_image: string
  /** Secret values are `***`. */
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly mounts: Readonly<Record<string, { readonly kind: 'tmp'; readonly capacity: number }>>
  readonly runtime_constraints: {
    readonly vcpus: number
    readonly ram: number
    readonly gpus: number
  }
  readonly scheduling_parameters: {
    readonly preemptible: boolean
    readonly supervisor: boolean
    /** In seconds; 0 is for ever. */
    readonly max_run_time: number
  }
  /** How often it may be run in all, when runs end without a result. */
  readonly container_count_max: number
  /** The uuid in Arvados of a container that Arvados asked for. */
  readonly arvados_uuid?: string
}

/** A container as Redis has it. Times are Redis' clock, in milliseconds; 0 is never. */
export interface ContainerRecord {
  readonly view: ContainerView
  readonly need: Need
  readonly tenant: string
  readonly state: ContainerState
  readonly priority: number
  /** Changes at each write. */
  readonly version: number
  readonly queuedMs: number
  readonly startedMs: number
  readonly finishedMs: number
  /** How often a machine was asked to run it without beginning it. */
  readonly attempts: number
  /** How often it began. */
  readonly runs: number
  /** The present or last run; 0 before the first. */
  readonly run: number
  /** The internal name of its present or last machine; '' before the first. */
  readonly machine: string
  /** The cloud's id of that machine. */
  readonly instance: string
  readonly instanceType: string
  readonly pricePerHour: number
  readonly exitCode: number | undefined
  /** Why it was cancelled, or is to be killed; '' if not. */
  readonly cancelled: string
  /** The last trouble, in a sentence; '' without one. */
  readonly trouble: string
  /** `host:port` of its tunnel, as its keeper sees the machine; '' without one. */
  readonly gatewayAddress: string
  /** It has ended, and so much was kept that its output was dropped. */
  readonly isOutputDropped: boolean
  /** The SHA-256 of that gateway's certificate, as the machine reported it over SSH. */
  readonly gatewayPin: string
  /** The `RunSpec`, sealed for this uuid. */
  readonly sealedSpec: string
}

/** A container of a machine. */
export interface ContainerBrief {
  readonly uuid: string
  /** 0 while the machine was not asked. */
  readonly run: number
  readonly supervisor: boolean
  readonly need: Need
}

/** Those that a machine was asked to run. */
export const sentOf = ({ containers }: Pick<MachineBrief, 'containers'>): readonly ContainerBrief[] =>
  containers.filter(({ run }) => run > 0)

/** A machine as the scheduler and people see it: one entry for each machine that is not gone by proof. */
export interface MachineBrief {
  /** The name of its record, which is also the intent's token and the tag `Intent`: its op in base 36. */
  readonly name: string
  readonly op: number
  readonly type: string
  readonly providerType: string
  readonly price: number
  readonly tenant: string
  readonly state: 'creating' | 'unknown' | 'booting' | 'idle' | 'running' | 'shutdown'
  readonly sinceMs: number
  readonly createdMs: number
  readonly probedMs: number
  /** When its last container ended; 0 without one. */
  readonly busyMs: number
  readonly idleBehavior: 'run' | 'hold' | 'drain'
  readonly broken: string
  /** The cloud's id; '' while it is not known. */
  readonly instance: string
  readonly address: string
  /** Why it ends, once it is to end: never taken back. */
  readonly ending: string
  /** Each one until it is freed. */
  readonly containers: readonly ContainerBrief[]
  readonly lastContainer: string
  readonly version: number
}
