/** Requests about containers, and their answers. Pure. */
import type { ContainerState, ContainerView } from '../../dispatch/container.ts'
import type { ContainerShown, Shape } from './forms.ts'

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
  /** So many wait already, or what waits or runs has so many bytes: of this owner, or of all. */
  | { readonly answer: 'full'; readonly of: 'owner' | 'all'; readonly by: 'number' | 'bytes' }

export type ContainerChange =
  | { readonly priority: number }
  /** Why it is cancelled, in words for its owner. */
  | { readonly cancel: string }

export type ContainerChanged = 'changed' | 'ended' | 'none' | 'often'

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
  /** It has ended, and its output was dropped, since too much was kept. */
  readonly dropped: boolean
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
  /** Containers that have ended, and are kept. */
  readonly ended: number
  /** Bytes of all outputs, and of the records of containers that have ended. */
  readonly keptBytes: number
  /** Bytes of the records of containers that wait or run. */
  readonly activeBytes: number
}
