/**
 * The words between a keeper and the runner of its machine: one JSON object a line, both ways, over one channel of SSH
 * (`skylab runner attach`). Pure. Schemas check what arrives: a machine may lie, and a keeper may be an old one.
 *
 * The fence: `hello` names the connection's epoch. The runner stores the highest that it has heard, and compares it again at
 * each act, under one gate. A lower one is refused. If several connections have the highest epoch, only the last one may act:
 * an act in the pipe of an earlier one would otherwise come after a list that lacks it. A start needs a higher run than every
 * earlier one of this container.
 */

/** The longest line of either side, in bytes, without its end. A longer one is dropped, and refused as `bad`. */
export const longestLineBytes = 1024 * 1024
/** The longest start, as JSON: a line that lists it must fit too. */
export const longestWarrantBytes = 768 * 1024
/** Runs that a machine keeps until they are acknowledged to their end. One more is refused as `busy`. */
export const mostRuns = 1000
/** Bytes of output in one entry, before base64. */
export const mostOutputBytes = 32 * 1024

/** How a container is run. Values of secrets are among them: a line with it is never logged. */
export interface RunSpec {
  readonly command: readonly string[]
  /** For the engines `docker` and `podman`; `process` ignores it. */
  readonly image: string
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  /** Paths in the container, with their size. */
  readonly mounts: Readonly<Record<string, { readonly kind: 'tmp'; readonly capacity: number }>>
  readonly vcpus: number
  readonly ramBytes: number
  /** In seconds; 0 is for ever. */
  readonly maxRunSeconds: number
}

/** The right to run a container, signed by the installation over uuid, run, spec and owner. After a loss of Redis it is proof. */
export interface Warrant {
  readonly uuid: string
  readonly run: number
  readonly owner: string
  readonly spec: RunSpec
  readonly seal: string
}

export type ToRunner =
  | { readonly type: 'hello'; readonly epoch: number }
  | { readonly type: 'list'; readonly id: number }
  /** `key`: of the run's tunnel, in hex. It is stored with the run, and never listed. */
  | ({ readonly type: 'start'; readonly id: number; readonly key?: string } & Warrant)
  | { readonly type: 'kill'; readonly id: number; readonly uuid: string; readonly run: number }
  /** The keeper has stored all of this run up to `seq`. With the last one of an ended run, the machine forgets all but its number. */
  | { readonly type: 'ack'; readonly uuid: string; readonly run: number; readonly seq: number }

/**
 * The state of a run, as its machine reports it. `stale`: its supervisor was lost. Its processes are killed then, and once none is
 * left it has an end, without an exit code. The machine is broken.
 */
export type RunState = 'starting' | 'running' | 'ended' | 'stale'

/** The end of a run. `exitCode` is undefined where the engine never gave one: then `reason` says why. */
export interface RunEnd {
  readonly exitCode?: number
  readonly reason?: string
  /** It was killed because it ran longer than it may. */
  readonly timedOut?: boolean
}

export interface Listed extends Warrant, Partial<Gateway> {
  readonly state: RunState
  readonly startedMs?: number
  readonly finishedMs?: number
  readonly end?: RunEnd
  /** The last entry of its spool. */
  readonly seq: number
}

/** Where a run's tunnel is on its machine, and the SHA-256 of its certificate, in hex. */
export interface Gateway {
  readonly gatewayPort: number
  readonly gatewayPin: string
}

/**
 * Entries of a spool are numbered from 1 for each run, without gaps, and are sent again until they are acknowledged. A connection
 * gets them once its first list was answered.
 */
export type Entry =
  | ({ readonly kind: 'running'; readonly atMs: number } & Partial<Gateway>)
  | { readonly kind: 'output'; readonly atMs: number; readonly stream: 'stdout' | 'stderr'; readonly base64: string }
  /** So many bytes of output were dropped: the spool was full. */
  | { readonly kind: 'lost'; readonly atMs: number; readonly bytes: number }
  | { readonly kind: 'ended'; readonly atMs: number; readonly end: RunEnd }

/**
 * A refused start is proof that it did nothing.
 * - `epoch`: another connection may act, or none may yet. The runner closes.
 * - `run`: the container had this run to its end, or a higher one.
 * - `busy`: an earlier run of this container has not ended, or there are too many runs.
 * - `broken`: the machine can start nothing: it lost a supervisor, or its disk is full.
 */
export type Refusal = 'epoch' | 'run' | 'busy' | 'broken' | 'unknown' | 'bad'

export type FromRunner =
  /** The answer to `hello`: the connection may act now. `highestRun`: of all runs that it was ever asked to start; 0: none. */
  | { readonly type: 'welcome'; readonly epoch: number; readonly version: string; readonly highestRun: number }
  /**
   * `highest`: the highest epoch; for `run`, the highest run of this container. With the machine's secret, so that the keeper
   * can believe it. `end`: for `run`, how this very run ended here, as it was reported and acknowledged before.
   */
  | {
      readonly type: 'refused'
      readonly id?: number
      readonly why: Refusal
      readonly message: string
      readonly highest: number
      readonly secret: string
      readonly end?: Pick<RunEnd, 'exitCode' | 'timedOut'> & { readonly atMs: number }
    }
  /** `more`: another one with this id follows. The last one says whether, and why, the machine is broken. */
  | {
      readonly type: 'listed'
      readonly id: number
      readonly runs: readonly Listed[]
      readonly more?: true
      readonly broken?: string
    }
  /** The supervisor holds its lock, and the run is on disk. */
  | { readonly type: 'started'; readonly id: number; readonly uuid: string; readonly run: number }
  /** The signal was sent; the end comes as an entry. */
  | { readonly type: 'killing'; readonly id: number; readonly uuid: string; readonly run: number }
  | { readonly type: 'entry'; readonly uuid: string; readonly run: number; readonly seq: number; readonly entry: Entry }
  | { readonly type: 'beat'; readonly atMs: number; readonly load: number; readonly broken?: string }
