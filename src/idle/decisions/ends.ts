/** When a workload may be stopped, and why, by its rule and what is known of its activity. Pure. */
import type { IdleRule, SourceName } from '../../config/idle.ts'
import type { Activity, StopReason } from '../../store/idle.ts'
import type { DecideInput } from './decision.ts'

/** One way to end. */
interface End {
  readonly why: StopReason
  /** The first moment at which it may be stopped, without regard to warnings. */
  readonly atMs: number
  /** The present knowledge permits it. */
  readonly mayStop: boolean
}

export interface Ends {
  /** The first of those that are possible; undefined: it is never stopped. */
  readonly next: End | undefined
  /** By why: the time that the rule gives. */
  readonly afterMs: Readonly<Partial<Record<StopReason, number>>>
  /** Its time of idleness has passed, but silence of this source proves nothing. */
  readonly heldBy?: SourceName | undefined
}

export const nothingToEnd: Ends = { next: undefined, afterMs: {} }

type Input = Pick<DecideInput, 'look' | 'read' | 'nowMs' | 'wallMs' | 'startedMs' | 'unreported' | 'periods'> & {
  readonly rule: IdleRule
  readonly activity: Activity
}

export function ends(input: Input): Ends {
  const { rule, look, nowMs } = input
  const idle = idleEnd(input)
  const all = [idle, ageEnd(input), unreachableEnd(input)].filter(end => end !== undefined)
  const isOver = look.kind === 'seen' && idle !== undefined && idle.atMs <= nowMs
  // An end that cannot happen now must not hide one that can.
  const possible = all.some(({ mayStop }) => mayStop) ? all.filter(({ mayStop }) => mayStop) : all
  return {
    next: possible.toSorted((a, b) => a.atMs - b.atMs)[0],
    afterMs: {
      idle: msOf(rule.idleTimeoutSeconds),
      age: msOf(rule.maxAgeSeconds),
      unreachable: msOf(rule.unreachable.afterSeconds),
    },
    heldBy: isOver ? unheardOf(input) : undefined,
  }
}

/** Whole milliseconds. */
export const msOf = (seconds = 0): number => Math.ceil(seconds * 1000)

/** A source of the rule whose silence proves nothing now; undefined if that of each one counts. */
export const unheardOf = ({
  read,
  rule,
  unreported,
  nowMs,
  periods,
}: Pick<DecideInput, 'read' | 'rule' | 'unreported' | 'nowMs' | 'periods'>): SourceName | undefined => {
  const isWaitedFor = (source: SourceName) => rule?.sources.includes(source) && !unreported.includes(source)
  if (read.trafficIsUntold && isWaitedFor('traffic')) return 'traffic'
  const { atMs, rule: by } = read.cpu ?? { atMs: 0, rule: undefined }
  const isMeasured = by === rule?.name && atMs <= nowMs && nowMs - atMs <= periods.cpuMs
  return isWaitedFor('cpu') && !isMeasured ? 'cpu' : undefined
}

/** Idle for *longer* than the time-out, by a look that shows it: unknown is not idle. */
function idleEnd(input: Input): End | undefined {
  const { rule, look, read, activity } = input
  if (rule.idleTimeoutSeconds === undefined) return undefined
  const atMs = Math.max(activity.lastMs, read.floorMs) + msOf(rule.idleTimeoutSeconds) + 1
  const mayStop = look.kind === 'seen' && unheardOf(input) === undefined
  return { why: 'idle', atMs: Math.max(atMs, activity.keepMs), mayStop }
}

/** Its age by the clock that shows the lower one: a clock that is ahead stops nobody early. No request prolongs it. */
function ageEnd({ rule, nowMs, wallMs, startedMs }: Input): End | undefined {
  if (rule.maxAgeSeconds === undefined || startedMs === undefined) return undefined
  const aheadMs = Math.max(0, nowMs - wallMs)
  return { why: 'age', atMs: startedMs + msOf(rule.maxAgeSeconds) + aheadMs + 1, mayStop: true }
}

function unreachableEnd({ rule, look, read, activity }: Input): End | undefined {
  const { afterSeconds, then } = rule.unreachable
  if (then !== 'stop' || look.kind === 'seen' || activity.unreachableMs === 0) return undefined
  const sinceMs = Math.max(activity.unreachableMs, activity.lastMs, read.floorMs)
  const atMs = Math.max(sinceMs + msOf(afterSeconds), activity.keepMs)
  return { why: 'unreachable', atMs, mayStop: true }
}
