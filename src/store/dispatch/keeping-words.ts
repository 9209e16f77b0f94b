/** The words that keepers read and write. Pure. */
import type { ContainerView, MachineBrief } from '../../dispatch/container.ts'
import type { RunEnd } from '../../dispatch/protocol.ts'
import type { Shape } from './forms.ts'

/** Fields of a machine's record beside those of its operation. */
export interface MachineFacts {
  /** As it was pinned; '' before. */
  readonly hostKey: string
  /** Where the cloud was asked for it last, such as a subnet; '' before. Stored before the call. */
  readonly place: string
  /** Since when the cloud says that it has no such machine, by Redis' clock; 0 while it shows it. */
  readonly missingSinceMs: number
}

export interface MachineRead {
  readonly brief: MachineBrief
  readonly facts: MachineFacts
  /** Why containers of it are to be killed, by uuid. */
  readonly cancelled: ReadonlyMap<string, string>
  /** Redis' clock */
  readonly nowMs: number
}

/** Changes that a keeper may make. */
export interface MachineChanges extends Partial<Omit<MachineFacts, 'missingSinceMs'>> {
  /** Whether the cloud says now that it has no such machine: the first time is kept until it shows it again. */
  readonly missing?: boolean
  /** The cloud's id. */
  readonly instance?: string
  readonly address?: string
  /** While the machine ends, only `shutdown` is kept; while it has containers that were sent, `idle` becomes `running`. */
  readonly state?: Exclude<MachineBrief['state'], 'creating'>
  /** A probe succeeded now. */
  readonly probed?: true
  readonly broken?: string
  /** Why it ends. Never taken back, and kept from the first one. Not while it is on hold, unless the cloud has no machine. */
  readonly ending?: string
  /** After a signal that ends it. */
  readonly idleBehavior?: 'drain'
  /** It was asked what it runs, and all of that is in the records. */
  readonly asked?: true
}

export type Kept =
  /** `held`: it is on hold, so that `ending` was not kept; all else was. */
  | { readonly answer: 'kept' | 'held'; readonly brief: MachineBrief }
  /** Another machine's record has this id of the cloud: nothing was kept. */
  | { readonly answer: 'taken' }

/** A start that may be sent to the runner. `run` is the same when it is asked again. */
export interface Sending {
  readonly answer: 'send'
  readonly run: number
  readonly owner: string
  /** Since it was queued, of one that has never begun. */
  readonly waitedMs: number | undefined
  readonly view: ContainerView
  readonly shape: Shape
  readonly priority: number
  /** Opens by `sealer.open(sealedSpec, sealedName, uuid)`, as `NewContainer.sealSpec` has sealed it. */
  readonly sealedSpec: string
}

/**
 * Why nothing is sent. `wait`: machines were not asked yet that may run it. `changed`: it is not of this machine any more, or another one comes first.
 * `cancelled`: it was sent before, and is not to begin: only proof ends it.
 */
export interface NotSent {
  readonly answer: 'wait' | 'changed' | 'hold' | 'drain' | 'ending' | 'broken' | 'cancelled'
}

/** The runner's report on a run. Its times are bounded by Redis' clock. */
export type Told =
  | { readonly what: 'running'; readonly atMs: number; readonly gatewayAddress: string; readonly gatewayPin?: string }
  | ({ readonly what: 'ended'; readonly atMs: number } & RunEnd)
  /**
   * Proof that the machine does not run it, and cannot any more under this run: a kill under the present epoch was answered, which
   * bars the run. A list without it proves nothing, since a start may be on its way.
   */
  | { readonly what: 'lacks'; readonly why?: string }

/** A run that a machine has, whose warrant is ours. */
export interface FoundRun {
  readonly uuid: string
  readonly run: number
  /** As the warrant allows to say. */
  readonly view: ContainerView
  readonly shape: Shape
  readonly priority: number
  readonly sealedSpec: string
  /** Whether it has begun. */
  readonly running: boolean
  readonly startedMs: number
  /** Where its tunnel is, and the pin of its certificate. */
  readonly gateway?: { readonly address: string; readonly pin: string } | undefined
  /** The end of a run that has ended there: it is written at once, and takes no machine. */
  readonly end?: RunEnd & { readonly atMs: number }
}

/**
 * `adopted`, `known`: it is this machine's. `other`: a higher run is elsewhere, or it is over: it is killed, and never reported.
 * `busy`: the record has as many others that were sent here as may be. Runs that have ended there, and runs that the machine lacks,
 * are reported first; then the run that is really there is adopted. It must never be killed for that.
 * `ahead`: no number of ours, since it is more than a day beyond our clock.
 */
export type FoundAnswer = 'adopted' | 'known' | 'other' | 'busy' | 'ahead'
