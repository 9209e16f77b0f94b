/** How a turn ended. */

/**
 * - `idle`: nothing was to be done;
 * - `left`: the key is none of ours any more;
 * - `refused`: another replica has the lease, or the lock;
 * - `over`: the time was over, or the process ends;
 * - `cut`: a revocation has come, which has a turn of its own;
 * - `due`: done but for what waits for Redis;
 * - `deferred`: effects or the status are left to another replica for a second;
 * - `held`: done but for what failed a moment ago;
 * - `failed`: a write was refused, or not answered.
 */
export type TurnResult = 'idle' | 'done' | 'left' | 'refused' | 'over' | 'cut' | 'due' | 'deferred' | 'held' | 'failed'

export interface TurnEnd {
  readonly result: TurnResult
  /** Number of writes that were accepted. */
  readonly writes: number
  /** When to look again, by the clock of the epoch. */
  readonly dueMs?: number | undefined
  /** More must be done already. */
  readonly isBehind?: boolean
  readonly error?: unknown
  /** The words of the error, in at most 1,000 characters; undefined for a defect. */
  readonly words?: string | undefined
}
