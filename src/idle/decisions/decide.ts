/**
 * Decides what a look at a workload means: when it was last active, whether its owner is warned, and whether it may be
 * stopped. Pure. All times are Redis' clock.
 */
import type { IdleRule } from '../../config/idle.ts'
import type { Activity, ActivityEvent, WorkloadState } from '../../store/idle.ts'
import type { DecideInput, Decision, Notice } from './decision.ts'
import { type Ends, ends, msOf, nothingToEnd, unheardOf } from './ends.ts'
import { afterLook, firstSight } from './seen.ts'
import { timeText } from './words.ts'

export function decide(input: DecideInput): Decision {
  const { rule, nowMs } = input
  const before = input.read.activity ?? firstSight(input)
  const seen = afterLook(input, before)
  const { next, afterMs, heldBy } = rule ? ends({ ...input, rule, activity: seen }) : nothingToEnd
  const warnMs = msOf(rule?.warnSeconds)
  const notice = noticeOf(input, seen, next, warnMs)
  const activity = notice ? { ...seen, warnedMs: notice.event === 'warning' ? nowMs : 0 } : seen
  const warnedUntilMs = activity.warnedMs > 0 ? activity.warnedMs + warnMs : 0
  const eligibleMs = next && Math.max(next.atMs, warnedUntilMs)
  // A workload that nobody was warned of in time gets its warning here, which moves this time.
  const why = next?.mayStop && eligibleMs! <= nowMs ? next.why : undefined
  return {
    activity,
    nextInMs: nextIn(input, { activity, eligibleMs, warnAtMs: next && next.atMs - warnMs }),
    events: eventsOf(input, before, activity, notice),
    notice,
    stop: why && { why, afterMs: afterMs[why]!, rule: rule!.name },
    state: stateOf(input, activity),
    heldBy: why ? undefined : heldBy,
    eligibleMs,
  }
}

/**
 * Nobody is warned of what cannot happen. A warning stays while a workload gives no answer for a while; its owner is warned
 * anew when that has lasted.
 */
function noticeOf(
  { look, nowMs, rule: its }: DecideInput,
  { warnedMs, toldMs }: Activity,
  next: Ends['next'],
  warnMs: number,
): Notice | undefined {
  const isKnown = look.kind === 'seen'
  const rule = its?.name ?? ''
  const isDue = next !== undefined && warnMs > 0 && nowMs >= next.atMs - warnMs && (next.mayStop || isKnown)
  if (warnedMs === 0) {
    return isDue
      ? { event: 'warning', why: next.why, eligibleMs: Math.max(next.atMs, nowMs + warnMs), rule }
      : undefined
  }
  const isOver = !isDue && (isKnown || toldMs > 0)
  return isOver ? { event: 'kept', why: next?.why ?? 'idle', eligibleMs: next?.atMs ?? 0, rule } : undefined
}

interface Ahead {
  readonly activity: Activity
  readonly eligibleMs: number | undefined
  readonly warnAtMs: number | undefined
}

/** The next check: after a period, or exactly when something is due before that. */
function nextIn({ look, nowMs, periods, rule }: DecideInput, { activity, eligibleMs, warnAtMs }: Ahead): number {
  const { checkMs, restMs, slowestMs } = periods
  const dueMs = [activity.warnedMs > 0 ? undefined : warnAtMs, eligibleMs, unreachableAtMs(rule, activity)]
  const ahead = dueMs.flatMap(each => (each !== undefined && each > nowMs ? [each - nowMs] : []))
  if (look.kind !== 'seen') return Math.min(failedMs(activity.failures, checkMs, slowestMs), ...ahead)
  const isFar = look.busy || eligibleMs === undefined || eligibleMs - nowMs > restMs
  return Math.min(isFar ? restMs : checkMs, ...ahead)
}

const failedMs = (failures: number, checkMs: number, slowestMs: number): number =>
  Math.min(Math.max(slowestMs, checkMs), checkMs * 2 ** Math.min(20, failures - 1))

const unreachableAtMs = (rule: IdleRule | undefined, { unreachableMs }: Activity): number | undefined =>
  rule && unreachableMs > 0 ? unreachableMs + msOf(rule.unreachable.afterSeconds) : undefined

function eventsOf(
  { rule, look }: DecideInput,
  before: Activity,
  after: Activity,
  notice: Notice | undefined,
): readonly ActivityEvent[] {
  const named = { rule: rule?.name }
  const told = notice && {
    event: notice.event,
    data: {
      ...named,
      why: notice.why,
      ...(notice.event === 'warning' && { eligibleAfter: timeText(notice.eligibleMs) }),
    },
  }
  const lost = before.toldMs === 0 && after.toldMs > 0 && look.kind !== 'seen'
  const since = { since: timeText(lost ? after.unreachableMs : before.unreachableMs) }
  const reachable = before.toldMs > 0 && after.toldMs === 0
  return [
    ...(told ? [told] : []),
    ...(lost
      ? [{ event: 'unreachable', data: { ...named, ...since, why: look.kind, words: look.words } } as const]
      : []),
    ...(reachable ? [{ event: 'reachable', data: { ...named, ...since } } as const] : []),
  ].map(({ event, data }) => ({ event, data: JSON.stringify(data) }))
}

function stateOf(input: DecideInput, { warnedMs, lastMs }: Activity): WorkloadState {
  const { look, nowMs, periods, rule } = input
  if (look.kind !== 'seen' || rule === undefined || unheardOf(input)) return 'unknown'
  if (warnedMs > 0) return 'warned'
  return look.busy || nowMs - lastMs <= periods.restMs ? 'active' : 'idle'
}
