/** Which annotations a check writes, and what is believed of those that people write. Pure. */
import type { StampPolicy } from '../../config/idle.ts'
import { stamps as names, stampOf } from '../../kube/labels.ts'
import type { Activity } from '../../store/idle.ts'
import type { StampPatch, Stamps } from '../workloads/workload.ts'

/**
 * Activity moves the annotation by steps of this length, unless each check writes it. One that started lately has none: a crowd
 * that starts at once would pay for them, and they would say what its start says.
 */
const stepMs = 5 * 60_000
/** The annotations of a workload at rest say at least that often that it is looked at. */
const refreshMs = 3_600_000

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i

/** @returns milliseconds since the epoch; undefined for text that is no time by RFC 3339 */
export function timeOf(text: string | undefined): number | undefined {
  if (text === undefined || !rfc3339.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isFinite(ms) ? ms : undefined
}

/** Names of the annotations whose value cannot be read: they are skipped, and written anew. */
export function unreadable({ lastActivity, checked, keepUntil }: Stamps): readonly string[] {
  const values = [
    [names.lastActivity, lastActivity],
    [names.checked, checked],
    [names.keepUntil, keepUntil],
  ] as const
  return values.flatMap(([name, value]) => (value !== undefined && timeOf(value) === undefined ? [name] : []))
}

export interface Checked {
  readonly policy: StampPolicy
  readonly now: Stamps
  /** When its pod started; undefined if that is not known. */
  readonly startedMs: number | undefined
  /** After the check. */
  readonly activity: Activity
  readonly nowMs: number
  /** Its owner was warned, or a warning was withdrawn. */
  readonly noticed: boolean
}

/** The annotations that follow a check; undefined if none is to be written. Both times go together, in one patch. */
export function stampsAfter(checked: Checked): StampPatch | undefined {
  const { policy, now, activity, nowMs, noticed } = checked
  if (policy === 'off') return undefined
  const keep = keepPatch(now, activity, nowMs)
  const isDue = policy === 'always' || noticed || isOld(checked)
  if (!isDue && !keep) return undefined
  return {
    [names.lastActivity]: stampOf(activity.lastMs),
    [names.checked]: stampOf(activity.checkedMs || nowMs),
    ...keep,
  }
}

/**
 * Whether the annotations that follow a check are still to be written when their turn has come. While many wait, workloads are
 * looked at again, and other replicas write what their later looks have found.
 */
export function isStillDue(checked: Checked): boolean {
  const { now, activity, nowMs } = checked
  const look = timeOf(now.checked)
  const isLater = look !== undefined && look > nowMs && look - nowMs < refreshMs
  return isLater ? keepPatch(now, activity, nowMs) !== undefined : stampsAfter(checked) !== undefined
}

function isOld({ now: { lastActivity, checked }, activity: { lastMs }, startedMs, nowMs }: Checked): boolean {
  if (lastActivity === undefined && checked === undefined) return !isYoung(startedMs, nowMs)
  const [last, look] = [timeOf(lastActivity), timeOf(checked)]
  if (last === undefined || look === undefined) return true
  // One that is ahead is corrected too.
  return lastMs - last >= stepMs || last > nowMs || Math.abs(nowMs - look) >= refreshMs
}

/** A start that is ahead, by another clock, makes none wait. */
const isYoung = (startedMs: number | undefined, nowMs: number): boolean =>
  startedMs !== undefined && startedMs <= nowMs && nowMs - startedMs < stepMs

function keepPatch({ keepUntil }: Stamps, { keepMs }: Activity, nowMs: number): StampPatch | undefined {
  const wanted = keepMs > nowMs ? stampOf(keepMs) : undefined
  return wanted === keepUntil ? undefined : { [names.keepUntil]: wanted ?? null }
}

/** For a workload that is stopped, or has no pod: its next idle clock begins anew. undefined if nothing is to be removed. */
export function withoutActivity({ lastActivity, checked }: Stamps): StampPatch | undefined {
  if (lastActivity === undefined && checked === undefined) return undefined
  return { [names.lastActivity]: null, [names.checked]: null }
}
