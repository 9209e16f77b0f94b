/** The commands of the scheduler, which holds the lease `Keys.dispatch.scheduleLease`, and of the throttle of all replicas. */
import type { MachineBrief } from '../../dispatch/container.ts'
import type { ShutdownReason, Throttle, Waiting } from '../../dispatch/types.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { Shape } from './forms.ts'

/** `shape` is the id of its group. */
export interface Queued extends Waiting {
  readonly version: number
  /** The machine that it is assigned to; '' without one. */
  readonly machine: string
}

export interface QueueGroup extends Shape {
  readonly id: string
  /** All that wait in it, of which `queue` may have the first ones alone. */
  readonly count: number
}

export interface QueueLimits {
  /** So many of each group are read: the first ones. Those that have a machine are read too. */
  readonly perGroup: number
  /** Of all groups, about. */
  readonly inAll: number
}

/**
 * What a pass is given. It is read in parts, so parts may be of different times: versions decide when a decision is written.
 */
export interface Reading {
  readonly nowMs: number
  readonly groups: readonly QueueGroup[]
  readonly queue: readonly Queued[]
  readonly machines: readonly MachineBrief[]
  readonly throttle: Throttle
  readonly throttleVersion: number
  /** While machines were not asked what they run, `write` answers `wait` for some containers. */
  readonly unasked: number
}

/** What of a machine or container was read: the decision holds only for that. */
export interface At {
  readonly id: string
  readonly version: number
}

export interface NewMachine {
  /** Drawn by `SchedulingStore.draw`. */
  readonly name: string
  readonly nonce: string
  /** Sealed for `instance:NAME` and the nonce, with the key that `draw` names. */
  readonly sealedPlan: string
  readonly type: string
  readonly providerType: string
  readonly price: number
  readonly tenant: string
  /** Of its whole life. */
  readonly timeoutMs: number
}

export type Decision =
  | { readonly what: 'unassign'; readonly container: At; readonly machine: At }
  | { readonly what: 'assign'; readonly container: At; readonly machine: At }
  | { readonly what: 'create'; readonly container: At; readonly create: NewMachine }
  /** `probedMs` as it was read: a later probe takes back an `unreachable`. */
  | { readonly what: 'shutdown'; readonly machine: At; readonly probedMs: number; readonly why: ShutdownReason }
  | { readonly what: 'fail'; readonly container: At; readonly why: string }

/**
 * `changed`: what was read is not so any more. `held`: the machine is on hold. `wait`: machines were not asked yet that may run
 * the container.
 */
export type Outcome = 'done' | 'changed' | 'held' | 'wait'

export class SchedulingStore {
  readonly #connection: Pick<Connection, 'run' | 'read'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run' | 'read'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /** @returns null while comparing. @throws {RetryLater} when Redis does not answer */
  async read(_limits: QueueLimits): Promise<Reading | null> {
    throw new Error(`not written: ${this.#keys.dispatch.generation} ${typeof this.#connection}`)
  }

  /**
   * Draws names for machines, of which any may stay unused.
   * @param ids the sealing keys of this replica (`Sealer.ids`)
   * @returns null while comparing, or if the others seal with a key that is not ours
   */
  async draw(
    _count: number,
    _ids: string,
  ): Promise<{ readonly names: readonly string[]; readonly keyId: string } | null> {
    throw new Error('not written')
  }

  /**
   * Writes decisions in their order, those of one pass in any number of calls. A decision that takes back what an earlier one of
   * this pass wrote has the versions that were read.
   * @param token of the schedule lease
   * @returns an outcome for each; null while comparing, or if another replica has the lease
   */
  async write(_token: string, _decisions: readonly Decision[]): Promise<readonly Outcome[] | null> {
    throw new Error('not written')
  }

  /** Writes why containers wait, by group; '' if they do not. Groups that are gone are left out. */
  async explain(_token: string, _sentences: ReadonlyMap<string, string>): Promise<boolean> {
    throw new Error('not written')
  }

  async throttle(): Promise<{ readonly throttle: Throttle; readonly version: number }> {
    throw new Error('not written')
  }

  /** @returns false if another version stands. Written again, it is the same */
  async setThrottle(_throttle: Throttle, _version: number): Promise<boolean> {
    throw new Error('not written')
  }

  /**
   * Reserves the next time for a call of the cloud.
   * @returns in how many milliseconds it may be made; null if that is beyond `mostMs`, and nothing was reserved
   */
  async reserveCall(_perSecond: number, _mostMs: number): Promise<number | null> {
    throw new Error('not written')
  }
}
