/** What people read of the idle engine. Pure. */
import type { WorkloadKind } from '../../config/idle.ts'
import { stampOf } from '../../kube/labels.ts'
import type { Notice, Stop } from './decision.ts'

/** RFC 3339, in UTC, to the second. */
export const isoOf = stampOf

/** RFC 3339, in UTC, to the millisecond. */
export const timeText = (ms: number): string => new Date(ms).toISOString()

const names: Readonly<Record<WorkloadKind, string>> = {
  lab: 'The lab',
  app: 'The app',
  notebook: 'The notebook',
  statefulset: 'The StatefulSet',
}

export function noticeWords(kind: WorkloadKind, { event, why, eligibleMs, rule }: Notice): string {
  const name = names[kind]
  if (event === 'kept') return `${name} is not stopped for now`
  const at = `will be stopped at ${isoOf(eligibleMs).slice(11, 16)} UTC`
  if (why === 'age') return `${name} ${at}, since it has its maximum age then (rule ${rule})`
  if (why === 'unreachable') return `${name} does not answer and ${at} unless it does (rule ${rule})`
  return `${name} is idle and ${at} unless it is used (rule ${rule})`
}

export function stopWords({ why, afterMs, rule }: Stop): string {
  const time = timeOf(afterMs)
  if (why === 'age') return `stopped at its maximum age of ${time} (rule ${rule})`
  return `stopped after ${time} without ${why === 'idle' ? 'activity' : 'an answer'} (rule ${rule})`
}

const units = [
  [86_400_000, 'days', 2],
  [3_600_000, 'hours', 3],
  [60_000, 'min', 2],
  [1000, 's', 0],
] as const

/** In the largest unit in which it is a whole number, and not a very small one. */
function timeOf(ms: number): string {
  const [length, name] = units.find(([each, , least]) => ms % each === 0 && ms >= least * each) ?? units[3]
  return `${ms / length} ${name}`
}
