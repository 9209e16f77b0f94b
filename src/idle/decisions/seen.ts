/** What is known of a workload's activity after a look. Pure. */
import type { Activity } from '../../store/idle.ts'
import type { DecideInput } from './decision.ts'
import { msOf } from './ends.ts'

/** A new incarnation: its idle clock begins now. */
export function firstSight({ podUid, nowMs, byHand, rule }: DecideInput): Activity {
  const longestMs = msOf(rule?.keepAlive.maxSeconds)
  const { keepMs = 0 } = byHand
  return {
    podUid,
    sinceMs: nowMs,
    lastMs: nowMs,
    source: '',
    checkedMs: 0,
    warnedMs: 0,
    // A request that Redis forgot stands in the annotation. No request reaches further.
    keepMs: keepMs > nowMs && keepMs <= nowMs + longestMs ? keepMs : 0,
    failures: 0,
    unreachableMs: 0,
    toldMs: 0,
    stoppingMs: 0,
    stoppedMs: 0,
    stopWords: '',
    readings: {},
  }
}

export function afterLook({ look, rule, nowMs, byHand }: DecideInput, before: Activity): Activity {
  const known = byHand.lastMs === undefined ? before : active(before, byHand.lastMs, 'annotation', nowMs)
  if (look.kind !== 'seen') {
    const unreachableMs = known.unreachableMs || nowMs
    const isLong = rule !== undefined && nowMs - unreachableMs >= msOf(rule.unreachable.afterSeconds)
    return { ...known, failures: known.failures + 1, unreachableMs, toldMs: known.toldMs || (isLong ? nowMs : 0) }
  }
  const ageMs = look.busy ? 0 : look.ageMs
  const seen =
    ageMs === undefined ? known : active(known, Math.ceil(nowMs - Math.max(0, ageMs)), look.source ?? '', nowMs)
  const readings = look.readings ?? known.readings
  const checkedMs = rule ? nowMs : known.checkedMs
  return { ...seen, readings, checkedMs, failures: 0, unreachableMs: 0, toldMs: 0 }
}

/** The latest activity never falls, and nothing that is ahead of now is believed. */
function active(activity: Activity, atMs: number, source: string, nowMs: number): Activity {
  return atMs > activity.lastMs && atMs <= nowMs ? { ...activity, lastMs: atMs, source } : activity
}
