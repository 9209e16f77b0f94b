/** The commands of those who ask for containers, and look at them. */
import type { ContainerState, ContainerView } from '../../dispatch/container.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import type { SealingKeys } from '../sealing.ts'
import type { StoredEvent } from '../series.ts'
import type { EventStream } from '../streams.ts'
import type { ContainerShown, Shape } from './forms.ts'

export interface ContainerStoreOptions {
  readonly connection: Pick<Connection, 'run' | 'read'>
  readonly keys: Keys
  readonly sealing: SealingKeys
  /** The first part of uuids. */
  readonly clusterId: string
  readonly idempotencyMs: number
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing?: () => void
  /** Why the cloud cannot be read for the compare, in words for clients; undefined if it can be. */
  readonly whyComparing?: () => string | undefined
}

export interface NewContainer {
  readonly nonce: string
  /** Secret values are masked. The uuid is drawn, and added. */
  readonly view: Omit<ContainerView, 'uuid'>
  readonly shape: Shape
  /** 0 to 1000; 0 waits, and is not scheduled. */
  readonly priority: number
  /**
   * Seals the `RunSpec` with this key of ours, for this name and nonce: `sealer.seal(spec, sealedName, nonce, keyId)`. A retry
   * after a rotation calls it again.
   */
  readonly sealSpec: (keyId: string, sealedName: string, nonce: string) => string
  readonly idempotency?: { readonly key: string; readonly bodyHash: string } | undefined
}

export type ContainerAccepted =
  /** `repeated`: the idempotency key was used with the same body. */
  | { readonly answer: 'accepted' | 'repeated'; readonly uuid: string }
  /** `mismatch`: the idempotency key was used with another body; `sealed`: other replicas seal with a key that is not ours. */
  | { readonly answer: 'mismatch' | 'sealed' }
  /** So many wait already: of this owner, or of all. */
  | { readonly answer: 'full'; readonly of: 'owner' | 'all' }

export type ContainerChange =
  | { readonly priority: number }
  /** Why it is cancelled, in words for its owner. */
  | { readonly cancel: string }

export interface ContainerQuery {
  /** Default: those of all. */
  readonly owner?: string
  readonly state?: ContainerState
  /** Only younger ones. */
  readonly after?: string
  /** At most 100. */
  readonly limit: number
}

export interface ContainerPage {
  /** By age. May be fewer than the limit although there are more. */
  readonly containers: readonly ContainerShown[]
  /** To be asked for as `after`; undefined if there are no more. */
  readonly next: string | undefined
}

/** A piece of output. Its place is the number of bytes before it; what lies between pieces is lost. */
export interface LogPiece {
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
  readonly bytes: Buffer
}

export interface LogRead {
  readonly pieces: readonly LogPiece[]
  /** To be read after next. */
  readonly next: number
  /** There is more to be read now. */
  readonly more: boolean
  /** The container has ended, and these are its last pieces. */
  readonly ended: boolean
}

export interface ContainerCounts {
  /** Containers that no machine was asked to run. */
  readonly waiting: number
  /** Containers that a machine was asked to run, and that are not known to have ended. */
  readonly sent: number
  /** Different needs among those that wait. */
  readonly groups: number
  /** Machines that are not gone by proof. */
  readonly machines: number
  /** Machines that were not asked what they run, since the compare. */
  readonly unasked: number
  /** Since when the oldest one waits, by Redis' clock; 0 if none does. */
  readonly nowMs: number
}

export class ContainerStore {
  readonly #options: ContainerStoreOptions

  constructor(options: ContainerStoreOptions) {
    this.#options = options
  }

  /** Writes a container that waits. @throws {ApiError} 503 while comparing */
  async accept(_container: NewContainer): Promise<ContainerAccepted> {
    throw new Error(`not written: ${this.#options.clusterId}`)
  }

  /**
   * Changes a container that has not ended. One that waits is cancelled at once; that of a machine is killed by its keeper first.
   * Priority 0 stops a container that a machine was asked to run, and only keeps a waiting one from being scheduled.
   * @param owner if only a container of this owner is meant
   * @returns `none`: there is no such container (of this owner)
   * @throws {ApiError} 503 while comparing, or until machines were asked that may run it
   */
  async change(
    _uuid: string,
    _owner: string | undefined,
    _change: ContainerChange,
  ): Promise<'changed' | 'ended' | 'none'> {
    throw new Error('not written')
  }

  /** @throws {ApiError} 503 while comparing, or for an unknown uuid until all machines were asked what they run */
  async find(_uuid: string, _owner?: string): Promise<ContainerShown | null> {
    throw new Error('not written')
  }

  /** Why a container waits, as the scheduler says; undefined if it does not wait, or was not looked at yet. */
  async status(_container: ContainerShown): Promise<string | undefined> {
    throw new Error('not written')
  }

  async list(_query: ContainerQuery): Promise<ContainerPage> {
    throw new Error('not written')
  }

  /**
   * The events of a container, in one series, which ends with it. Event `state` has `{state, at, …}` as JSON, `priority`
   * `{priority}`, `cancelling` `{reason}`.
   */
  stream(_uuid: string): EventStream<StoredEvent> {
    throw new Error('not written')
  }

  /** Output of a container after a place, about 64 KiB at once; null if there is no such container. */
  async log(_uuid: string, _after: number): Promise<LogRead | null> {
    throw new Error('not written')
  }

  /** For gauges; undefined while the data are not compared. */
  async counts(): Promise<ContainerCounts | undefined> {
    throw new Error('not written')
  }
}
