/**
 * The words between a keeper and the runner of its machine: one JSON object a line, both ways, over one channel of SSH
 * (`skylab runner attach`). Pure. Schemas check what arrives: a machine may lie, and a keeper may be an old one.
 *
 * The fence: `hello` names the connection's epoch. The runner stores the highest that it has heard, and compares it again at
 * each act, under one gate. A lower one is refused. A start needs a higher run than every earlier one of this container.
 */

/** How a container is run. Values of secrets are among them: a line with it is never logged. */
export interface RunSpec {
  readonly command: readonly string[]
  /** Of the engines `docker` and `podman`; `process` ignores it. */
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
  | ({ readonly type: 'start'; readonly id: number } & Warrant)
  | { readonly type: 'kill'; readonly id: number; readonly uuid: string; readonly run: number }
  /** The keeper has stored all of this run up to `seq`. */
  | { readonly type: 'ack'; readonly uuid: string; readonly run: number; readonly seq: number }

/** What a machine says of one run. `stale`: it has a folder, and no supervisor holds its lock. */
export type RunState = 'starting' | 'running' | 'ended' | 'stale'

/** The end of a run. `exitCode` is undefined where the engine never gave one: then `reason` says why. */
export interface RunEnd {
  readonly exitCode?: number
  readonly reason?: string
  /** It was killed because it ran longer than it may. */
  readonly timedOut?: boolean
}

export interface Listed extends Warrant {
  readonly state: RunState
  readonly startedMs?: number
  readonly finishedMs?: number
  readonly end?: RunEnd
  /** The last entry of its spool. */
  readonly seq: number
}

/** Entries of a spool are numbered from 1 for each run, without gaps, and are told again until they are acknowledged. */
export type Entry =
  | { readonly kind: 'running'; readonly atMs: number; readonly gatewayPort?: number }
  | { readonly kind: 'output'; readonly atMs: number; readonly stream: 'stdout' | 'stderr'; readonly base64: string }
  /** So many bytes of output were dropped: the spool was full. */
  | { readonly kind: 'lost'; readonly atMs: number; readonly bytes: number }
  | { readonly kind: 'ended'; readonly atMs: number; readonly end: RunEnd }

export type Refusal = 'epoch' | 'run' | 'busy' | 'broken' | 'unknown' | 'bad'

export type FromRunner =
  /** The answer to `hello`: the connection may act now. `highestRuns` is in `list`. */
  | { readonly type: 'welcome'; readonly epoch: number; readonly version: string }
  /** With the highest epoch and the machine's secret, so that the keeper can believe it. The runner closes after an `epoch`. */
  | {
      readonly type: 'refused'
      readonly id?: number
      readonly why: Refusal
      readonly message: string
      readonly highest: number
      readonly secret: string
    }
  | { readonly type: 'listed'; readonly id: number; readonly runs: readonly Listed[]; readonly broken?: string }
  /** The supervisor holds its lock, and the run is on disk. */
  | { readonly type: 'started'; readonly id: number; readonly uuid: string; readonly run: number }
  /** The signal was sent; the end comes as an entry. */
  | { readonly type: 'killing'; readonly id: number; readonly uuid: string; readonly run: number }
  | { readonly type: 'entry'; readonly uuid: string; readonly run: number; readonly seq: number; readonly entry: Entry }
  | { readonly type: 'beat'; readonly atMs: number; readonly load: number }
