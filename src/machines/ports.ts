/** What keepers need of other rooms beside Redis: the runner of their machine. */
import type { Entry, Listed, Warrant } from '../dispatch/protocol.ts'
import type { CreateOutcome } from '../dispatch/throttle.ts'

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
