/** An engine runs the command of one container, for its supervisor. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import type { RunEnd, Warrant } from '../../dispatch/protocol.ts'
import type { EngineName } from '../state/options.ts'
import type { Begun, RunFolder, Started } from '../state/run-folder.ts'
import type { Size } from './terminal.ts'

export interface EngineContext {
  readonly warrant: Warrant
  readonly folder: RunFolder
  readonly machineId: string
  readonly clock: Clock
  readonly engine: EngineName
  readonly begun: Begun
  /** For the pull of an image. Default: no limit, where nothing is started. */
  readonly pullMs?: number
}

/** A command that runs. */
export interface Running {
  readonly stdout: Readable
  readonly stderr: Readable
  /** Finds the process after the supervisor is lost. */
  readonly process: Pick<Started, 'pid' | 'birth'>
  /** Resolves when the command itself has ended. Others of its processes may be left. */
  readonly done: Promise<RunEnd>
}

export interface InsideWish {
  readonly command: readonly string[]
  /** Beside those of the container. */
  readonly environment: Readonly<Record<string, string>>
  /** Its terminal; undefined: it has none. */
  readonly size?: Size | undefined
}

/** Begins a command in the container, as the leader of a group of its own. Throws words for people. */
export type Inside = (wish: InsideWish) => ChildProcessWithoutNullStreams

export interface Reached {
  readonly host: string
  readonly port: number
}

export interface Engine {
  /** @throws an error with the words for the run's end, when the command cannot run */
  start(): Promise<Running>
  /** Sends SIGTERM to all its processes. */
  terminate(): Promise<void>
  /** Sends SIGKILL. @returns whether nothing of the run is left */
  destroy(): Promise<boolean>
  /**
   * For a run whose supervisor was lost: removes all, so that not even a request on its way can start it.
   * @returns whether nothing is left
   */
  discard(started: Started | undefined): Promise<boolean>
  /** Where this machine reaches a port of the container. @throws words for people */
  reach(port: number): Promise<Reached>
  /** Begins another command inside, at once. @throws words for people */
  inside: Inside
  /** After the end is stored: removes what the engine has of it. */
  clean(): Promise<void>
}

/** Variables that say to a command which run it is. A container's own environment cannot replace them. */
export const identity = ({ uuid, run }: Warrant): Readonly<Record<string, string>> => ({
  SKYLAB_CONTAINER_UUID: uuid,
  SKYLAB_CONTAINER_RUN: String(run),
})

/** For SIGKILL until nothing is left: a process in the midst of a write to a slow disk ends only afterwards. */
export const destroyMs = 30_000

/** As shells count: 128 and the number of the signal. */
export const exitCodeOf = (code: number | null, signal: number | undefined): number => code ?? 128 + (signal ?? 0)
