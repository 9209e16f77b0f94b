/** What a replica remembers of a key. All of it may be lost. */
import type { Failure } from './failure.ts'
import { Rivals, type RivalsOptions, rivalsDefaults } from './rivals.ts'
import { StatusPace } from './status-pace.ts'

export interface Memory {
  readonly rivals: Rivals
  readonly statusPace: StatusPace
  /** Until then the status must not be written, by the monotonic clock. */
  statusAtMs: number
  /** The marks of effects that are written, by name. */
  readonly effects: Map<string, string>
  /** What waits for Redis, and when that is asked again, by the monotonic clock. */
  due: ReadonlySet<string>
  dueAtMs: number
  /** Consecutive looks at which another had the lease. */
  refusals: number
  /** Consecutive turns that failed, or took too long. */
  failures: number
  /** The last of them, while it is not over. */
  failure: Failure | undefined
  /** Since when objects are in the way that may never be seen to go, or when they were last read. */
  waitsSinceMs: number | undefined
}

/** Who gave way to a rival is asked by its status for longer than the rival is known. */
const statusFactor = 4

export const newMemory = (options: RivalsOptions = rivalsDefaults): Memory => ({
  rivals: new Rivals(options),
  statusPace: new StatusPace({ ...options, withinMs: statusFactor * options.withinMs }),
  statusAtMs: 0,
  effects: new Map(),
  due: new Set(),
  dueAtMs: 0,
  refusals: 0,
  failures: 0,
  waitsSinceMs: undefined,
  failure: undefined,
})
