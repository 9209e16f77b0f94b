/** Converts what is known of workloads between Redis' flat hashes of strings and types. Pure. */
import type { WorkloadKind } from '../config/idle.ts'
import type { Entry } from './connection.ts'
import { pairs } from './fields.ts'
import {
  type Activity,
  type ActivityEventName,
  type ActivityRead,
  type ActivityView,
  type CheckEnd,
  type Finding,
  type LabRead,
  type StopRequest,
  type StoredActivityEvent,
  type WorkloadState,
  workloadStates,
} from './idle.ts'
import { readView } from './records.ts'

/** As `read-activity` answers. */
export type ReadAnswer = [
  now: string,
  floor: string,
  touches: string,
  untold: number,
  last: string,
  source: string,
  fields: string[],
]
/** As `read-idle-lab` adds; nothing for a lab that does not run. */
export type LabAnswer = (string | null)[]
/** As `find-activities` answers for one workload. */
export type FoundAnswer = [last: string, source: string, fields: string[]]

type Fields = ReadonlyMap<string, string>

const numberIn = (fields: Fields, name: string) => Number(fields.get(name) ?? 0)

/** @returns undefined if no check of an incarnation has ended */
function activityOf(fields: Fields, lastMs: number, source: string): Activity | undefined {
  const podUid = fields.get('pod')
  if (podUid === undefined) return undefined
  return {
    podUid,
    sinceMs: numberIn(fields, 'since'),
    lastMs,
    source,
    checkedMs: numberIn(fields, 'checked'),
    warnedMs: numberIn(fields, 'warned'),
    keepMs: numberIn(fields, 'keep'),
    failures: numberIn(fields, 'fails'),
    unreachableMs: numberIn(fields, 'unreachable'),
    toldMs: numberIn(fields, 'told'),
    stoppingMs: numberIn(fields, 'stopping'),
    stoppedMs: numberIn(fields, 'stopped'),
    stopWords: fields.get('stop') ?? '',
    readings: JSON.parse(fields.get('readings') ?? '{}'),
  }
}

export function readOf([now, floor, touches, untold, last, source, flat]: ReadAnswer): ActivityRead {
  const fields = pairs(flat)
  const cpuRule = fields.get('cpuRule')
  return {
    activity: activityOf(fields, Number(last), source),
    floorMs: Number(floor),
    nowMs: Number(now),
    touches: Number(touches),
    trafficIsUntold: untold === 1,
    cpu: cpuRule === undefined ? undefined : { atMs: numberIn(fields, 'cpu'), rule: cpuRule },
  }
}

export function labOf([op, podUid, namespaceUid, view, credential]: LabAnswer, user: string): LabRead['lab'] {
  if (!op) return undefined
  return {
    op: Number(op),
    podUid: podUid ?? '',
    namespaceUid: namespaceUid ?? '',
    view: readView(view ?? undefined, user),
    credential: credential || undefined,
  }
}

/** Scores of `activity-states`. */
export const stateScore = (state: WorkloadState): number => workloadStates.indexOf(state) + 1

/** Fields that a check writes, as JSON: text, since Redis' JSON would round large numbers. */
export function encodeFound({ activity, finding }: Pick<CheckEnd, 'activity' | 'finding'>): string {
  const whole = (ms: number) => String(Math.ceil(ms))
  return JSON.stringify({
    since: whole(activity.sinceMs),
    last: whole(activity.lastMs),
    source: activity.source,
    checked: whole(activity.checkedMs),
    warned: whole(activity.warnedMs),
    keep: whole(activity.keepMs),
    fails: whole(activity.failures),
    unreachable: whole(activity.unreachableMs),
    told: whole(activity.toldMs),
    readings: JSON.stringify(activity.readings).toWellFormed(),
    state: finding.state,
    rule: finding.rule,
    eligible: whole(finding.eligibleMs),
  })
}

/** The form of a request to stop, for scripts. */
export function encodeAsk(request: Omit<StopRequest, 'kind' | 'id'>): string {
  return JSON.stringify({
    podUid: request.podUid,
    score: request.score,
    lastMs: Math.ceil(request.lastMs),
    readLastMs: request.readLastMs,
    touches: request.touches,
    why: request.why,
    timeoutMs: request.timeoutMs,
    warnMs: request.warnMs,
    expectedMs: request.expectedMs,
    stopsPerMinute: request.stopsPerMinute,
    words: request.words.toWellFormed(),
    data: request.data.toWellFormed(),
  })
}

export function viewOf([last, source, flat]: FoundAnswer): ActivityView | undefined {
  const fields = pairs(flat)
  if (fields.size === 0) return undefined
  const stoppedMs = numberIn(fields, 'stopped')
  return {
    activity: activityOf(fields, Number(last), source),
    finding: findingOf(fields),
    stopped: stoppedMs > 0 ? { atMs: stoppedMs, words: fields.get('stop') ?? '' } : undefined,
    stoppingMs: numberIn(fields, 'stopping'),
    keepMs: numberIn(fields, 'keep'),
  }
}

function findingOf(fields: Fields): Finding | undefined {
  const state = fields.get('state')
  if (state === undefined) return undefined
  return { state: state as WorkloadState, rule: fields.get('rule') ?? '', eligibleMs: numberIn(fields, 'eligible') }
}

export function activityEventOf([id, flat]: Entry): StoredActivityEvent {
  const fields = pairs(flat)
  return {
    id,
    kind: fields.get('kind') as WorkloadKind,
    workload: fields.get('id') ?? '',
    event: fields.get('event') as ActivityEventName,
    data: fields.get('data') ?? '',
    atMs: numberIn(fields, 'at'),
  }
}
