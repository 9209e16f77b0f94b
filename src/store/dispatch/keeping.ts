/** The commands of keepers: owners of a machine's operation. Each write is fenced by (op, token). */
import type { ContainerView, MachineBrief } from '../../dispatch/container.ts'
import type { Entry, RunEnd } from '../../dispatch/protocol.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { Ownership } from '../owners.ts'
import type { Shape } from './forms.ts'

/** Fields of a machine's record beside those of its operation. */
export interface MachineFacts {
  /** As it was pinned; '' before. */
  readonly hostKey: string
  /** The hash of the runner that stands there; '' before. */
  readonly runnerHash: string
  /** When its boot probe succeeded; 0 before. */
  readonly bootedMs: number
  /** When it showed the right secret, with the present host key; 0 before. */
  readonly secretMs: number
  // LEAD'S REQUEST (remove this line when done): the two fields below, and `nowMs` of `read`.
  /** Where the cloud was asked for it last, such as a subnet; '' before. Stored before the call. */
  readonly place: string
  /** Since when the cloud says that it has no such machine, by Redis' clock; 0 while it shows it. */
  readonly missingSinceMs: number
}

/** What a keeper may change. */
export interface MachineChanges extends Partial<Omit<MachineFacts, 'missingSinceMs'>> {
  /** Whether the cloud says now that it has no such machine: the first time is kept until it shows it again. */
  readonly missing?: boolean
  /** The cloud's id. */
  readonly instance?: string
  readonly address?: string
  /** Of one that ends, nothing but `shutdown` is kept; of one with a container that was sent, `idle` is `running`. */
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

export interface Kept {
  /** `held`: it is on hold, so that `ending` was not kept; all else was. */
  readonly answer: 'kept' | 'held'
  readonly brief: MachineBrief
}

/** What may be sent to the runner. `run` is the same when it is asked again. */
export interface Sending {
  readonly answer: 'send'
  readonly run: number
  readonly owner: string
  readonly view: ContainerView
  /** Opens by `sealer.open(sealedSpec, sealedName, nonce)`, as `NewContainer.sealSpec` has sealed it. */
  readonly sealedSpec: string
}

/** Why nothing is sent. `wait`: machines were not asked yet that may run it. The scheduler has changed its mind: `changed`. */
export interface NotSent {
  readonly answer: 'wait' | 'changed' | 'hold' | 'drain' | 'ending' | 'broken'
}

/** What the runner says of a run. Its times are bounded by Redis' clock. */
export type Told =
  | { readonly what: 'running'; readonly atMs: number; readonly gatewayAddress: string }
  | ({ readonly what: 'ended'; readonly atMs: number } & RunEnd)
  /** Proof that the machine does not run it, and cannot any more under this run: it was asked under the present epoch. */
  | { readonly what: 'lacks' }

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
}

/**
 * `adopted`, `known`: it is this machine's. `other`: a higher run is elsewhere, or it is over: to be killed, and never told.
 * `busy`: the machine has another one that was sent. `ahead`: no number of ours, since it is more than a day beyond our clock.
 */
export type FoundAnswer = 'adopted' | 'known' | 'other' | 'busy' | 'ahead'

export interface KeepingStoreOptions {
  readonly connection: Pick<Connection, 'run'>
  readonly keys: Keys
  /** From the configuration. */
  readonly maxDispatchAttempts: number
}

export class KeepingStore {
  readonly #options: KeepingStoreOptions

  constructor(options: KeepingStoreOptions) {
    this.#options = options
  }

  /** @throws {Fenced} when no longer the owner, or the machine is gone by proof */
  // LEAD'S REQUEST (remove this line when done): `cancelled` is the reason why its container is to be killed, '' if it is not; the
  // change that sets it rings about the machine (instance:NAME) too, so that the keeper looks at once.
  async read(
    _by: Ownership,
  ): Promise<{
    readonly brief: MachineBrief
    readonly facts: MachineFacts
    readonly cancelled: string
    /** Redis' clock. */
    readonly nowMs: number
  }> {
    throw new Error(`not written: ${this.#options.maxDispatchAttempts}`)
  }

  /** @throws {Fenced} when no longer the owner, or the machine is gone by proof */
  async keep(_by: Ownership, _changes: MachineChanges): Promise<Kept> {
    throw new Error('not written')
  }

  /**
   * Writes that a machine is asked to run its container: from here on only proof frees it. To be called before anything is sent.
   * @throws {Fenced} when no longer the owner
   * @throws {RetryLater} when no run can be drawn
   */
  async send(_by: Ownership, _uuid: string): Promise<Sending | NotSent> {
    throw new Error('not written')
  }

  /**
   * Writes what is known of a run. Told again, it changes nothing.
   * @returns `other`: this run is not this machine's any more
   * @throws {Fenced} when no longer the owner
   */
  async tell(_by: Ownership, _uuid: string, _run: number, _told: Told): Promise<'told' | 'other'> {
    throw new Error('not written')
  }

  /**
   * Keeps entries of a spool, in order. Only output and gaps are kept; told again, they change nothing.
   * @param entries with their place in the spool
   * @returns the last place that is kept; `other` as `tell`
   * @throws {Fenced} when no longer the owner
   */
  async appendLog(
    _by: Ownership,
    _uuid: string,
    _run: number,
    _entries: readonly (readonly [seq: number, Extract<Entry, { kind: 'output' | 'lost' }>])[],
  ): Promise<number | 'other'> {
    throw new Error('not written')
  }

  /**
   * After a loss: writes what a machine runs. The caller has checked the seal of its warrant.
   * @throws {Fenced} when no longer the owner
   */
  async adopt(_by: Ownership, _found: FoundRun): Promise<FoundAnswer> {
    throw new Error('not written')
  }

  // LEAD'S REQUEST (remove this line when done): the machine proved by its secret that it has heard this epoch.
  /**
   * Raises the counter of epochs and runs, so that the next claim draws a higher one. Bounded by Redis' clock plus a day.
   * @returns false if the epoch lies beyond that: the machine lies, and is broken
   * @throws {Fenced} when no longer the owner
   */
  async floor(_by: Ownership, _epoch: number): Promise<boolean> {
    throw new Error('not written')
  }

  /**
   * The machine is gone by proof: frees its container, and forgets the machine. The operation is to be finished as `gone` then.
   * @throws {Fenced} when no longer the owner
   */
  async gone(_by: Ownership): Promise<void> {
    throw new Error('not written')
  }
}
