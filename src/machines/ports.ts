/** The runner of a machine, as keepers use it. */
import type { MachineRuns, PastEnd } from '../dispatch/attached.ts'
import type { Entry, Refusal, Warrant } from '../dispatch/protocol.ts'
import type { CreateOutcome } from '../dispatch/throttle.ts'

/** The channel to the runner of a machine, with the keeper's epoch. */
export interface RunnerLink {
  /** Fires when it has ended. */
  readonly ended: AbortSignal
  list(): Promise<MachineRuns>
  /** @param key of the run’s tunnel; without it there is none */
  start(warrant: Warrant, key?: string): Promise<StartAnswer>
  /** `unknown`: the machine has no such run. */
  kill(uuid: string, run: number): Promise<'killing' | 'unknown'>
  ack(uuid: string, run: number, seq: number): void
  close(): void
}

/** `started`, or why not, in the machine's words: then it did nothing. */
export type StartAnswer =
  | 'started'
  | {
      readonly refused: Refusal
      readonly message: string
      /** How this very run ended, which Redis has forgotten. */
      readonly end?: PastEnd | undefined
    }

export interface LinkHandlers {
  /** The next one waits for a returned promise. */
  onEntry(uuid: string, run: number, seq: number, entry: Entry): void | Promise<void>
  /** @param broken why the machine can start nothing any more */
  onBeat(broken: string | undefined): void
}

/** Where outcomes of creations go, for all replicas. */
export type Teach = (outcome: CreateOutcome) => Promise<void>
