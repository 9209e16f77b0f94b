/** The memory of a replica about a key. All of it may be lost. */
import type { Clock } from '../base/clock.ts'
import type { Failure } from './failure.ts'
import { Rivals, type RivalsOptions, rivalsDefaults } from './rivals.ts'
import { StatusPace } from './status-pace.ts'

interface Remembered {
  rivals: Rivals
  statusPace: StatusPace
  /** Until then the status must not be written, by the monotonic clock. */
  statusAtMs: number
  /** The marks of effects that are written, by name. */
  effects: Map<string, string>
  /** Names that wait for Redis, and when that is asked again, by the monotonic clock. */
  due: ReadonlySet<string>
  dueAtMs: number
  /** Consecutive looks at which another had the lease. */
  refusals: number
  /** The replica that does the work of the key, as far as is known: the last to write under its lease, or one that makes its objects. */
  holder: 'self' | 'other' | 'unknown'
  /** When this replica wrote an effect, by the monotonic clock. */
  effectAtMs: number
  /** Consecutive turns that failed, or took too long. */
  failures: number
  /** The last of them, while it is not over. */
  failure: Failure | undefined
  /** Until then nothing that restricts is corrected in a pause, by the monotonic clock. */
  restrictAtMs: number
  /** Since when objects are in the way that may never be seen to go, or when they were last read. */
  waitsSinceMs: number | undefined
}

export interface Memory extends Remembered {
  readonly options: RivalsOptions
  /** Whether a turn was taken. */
  wasTaken: boolean
  /** How often the key was asked for: each time something may look different. */
  asked: number
  /** The parent that all this is about; undefined if parents share the key, or before the first look. */
  parentUid: string | undefined
}

/** Replacements of our status are counted for longer than changes of our objects. */
const statusFactor = 4

export const newMemory = (options: RivalsOptions = rivalsDefaults): Memory => ({
  options,
  wasTaken: false,
  asked: 0,
  parentUid: undefined,
  ...nothing(options),
})

/**
 * A parent that was made again has nothing to do with the former one of its name.
 * @returns whether the memory was of another parent, and is empty now
 */
export function remember(memory: Memory, parentUid: string): boolean {
  const isOther = memory.parentUid !== undefined && memory.parentUid !== parentUid
  if (isOther) Object.assign(memory, nothing(memory.options))
  memory.parentUid = parentUid
  return isOther
}

/** By then a watch that is behind has caught up. */
const recentMs = 3_000

/** Whether this replica wrote an effect a moment ago. */
export const isRecent = ({ effectAtMs }: Memory, clock: Pick<Clock, 'monotonicMs'>): boolean =>
  clock.monotonicMs() < effectAtMs + recentMs

const nothing = (options: RivalsOptions): Remembered => ({
  rivals: new Rivals(options),
  statusPace: new StatusPace({ ...options, withinMs: statusFactor * options.withinMs }),
  statusAtMs: 0,
  effects: new Map(),
  due: new Set(),
  dueAtMs: 0,
  refusals: 0,
  holder: 'unknown',
  effectAtMs: Number.NEGATIVE_INFINITY,
  failures: 0,
  failure: undefined,
  restrictAtMs: 0,
  waitsSinceMs: undefined,
})
