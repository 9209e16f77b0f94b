/** What keepers need of other rooms: Redis, the cloud, and the way to a machine. */
import type { MachineBrief } from '../dispatch/container.ts'
import type { Entry, Listed, RunEnd, RunSpec, Warrant } from '../dispatch/protocol.ts'
import type { CreateOutcome } from '../dispatch/throttle.ts'
import type { Ownership } from '../store/owners.ts'

/** A machine with its container, as one reading of Redis has them. */
export interface Kept {
  /** Undefined when the machine is buried. */
  readonly brief: MachineBrief | undefined
  /** The pinned host key; '' before the first connection. */
  readonly hostKey: string
  /** Why its container is to be killed; '' if it is not. */
  readonly cancelled: string
}

/** What a keeper changes of its machine. `broken` and `ending` are only ever set once. */
export interface Changes {
  readonly instance?: string
  readonly address?: string
  readonly hostKey?: string
  readonly state?: 'booting' | 'idle' | 'running'
  readonly broken?: string
  readonly ending?: string
  readonly drain?: true
  /** A good probe: its time is Redis' clock. */
  readonly probed?: true
}

export interface Sent {
  readonly run: number
  readonly owner: string
  readonly spec: RunSpec
}

/** What a machine says of the run that it was asked for, or what its end proves. */
export type Word =
  | { readonly what: 'running'; readonly atMs: number; readonly gatewayAddress: string }
  | { readonly what: 'ended'; readonly atMs: number; readonly end: RunEnd }
  | { readonly what: 'lacks'; readonly why: string }
  | { readonly what: 'gone'; readonly why: string }

export interface OutputEntry {
  readonly seq: number
  readonly atMs: number
  readonly stream: 'stdout' | 'stderr' | 'skylab'
  readonly text: string
}

/** The writes of a keeper. Each names the machine's operation and its owner. @throws {Fenced} when both have changed */
export interface Keeping {
  read(name: string): Promise<Kept>
  keep(own: Ownership, changes: Changes): Promise<void>
  /** Draws a run, or finds the one that was drawn. `no`: the machine does not have this container any more. */
  send(own: Ownership, uuid: string): Promise<Sent | 'no'>
  /** `other`: this run is not the container's any more. */
  tell(own: Ownership, uuid: string, run: number, word: Word): Promise<'told' | 'other'>
  appendLog(own: Ownership, uuid: string, run: number, entries: readonly OutputEntry[]): Promise<'told' | 'other'>
  /** A run that Redis does not know, by a warrant that is ours. `other`: the container has another one. */
  adopt(own: Ownership, listed: Listed): Promise<'kept' | 'other'>
  /** No epoch up to this one is drawn again, as far as Redis' clock allows. */
  floorEpoch(epoch: number): Promise<void>
  /** Forgets a machine that is gone by proof; its container is freed before. */
  bury(own: Ownership): Promise<void>
}

/** The channel to the runner of a machine, with the keeper's epoch. */
export interface RunnerLink {
  /** Fires when it has ended. */
  readonly ended: AbortSignal
  list(): Promise<readonly Listed[]>
  /** `started`, or why not, in the machine's words. */
  start(warrant: Warrant): Promise<'started' | { readonly refused: string; readonly message: string }>
  kill(uuid: string, run: number): Promise<void>
  ack(uuid: string, run: number, seq: number): void
  close(): void
}

export interface LinkHandlers {
  onEntry(uuid: string, run: number, seq: number, entry: Entry): void
  onBeat(): void
}

/** Where outcomes of creations go, for all replicas. */
export type Teach = (outcome: CreateOutcome) => Promise<void>
