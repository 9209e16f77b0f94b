/** What REST shows of a workload, by what Redis knows and the watches show. Pure. */
import type { IdleRule } from '../../config/idle.ts'
import type { ActivityView } from '../../store/idle.ts'
import { msOf } from '../decisions/ends.ts'
import { timeText } from '../decisions/words.ts'
import type { Workload, WorkloadFacts } from '../workloads/workload.ts'
import type { KeepLimit, ShownSource, ShownState, WorkloadView } from './service.ts'

export interface Shown {
  /** undefined: Redis knows nothing of it. */
  readonly known: ActivityView | undefined
  /** undefined: the watches show none that runs. */
  readonly facts: WorkloadFacts | undefined
  /** The watches show that it ends. */
  readonly isEnding: boolean
  readonly rules: readonly IdleRule[]
  readonly wallMs: number
}

/** @returns undefined if there is none, and none was stopped lately */
export function viewOf({ kind, id }: Workload, shown: Shown): WorkloadView | undefined {
  const { known, facts, wallMs } = shown
  const state = stateOf(shown)
  if (state === undefined) return undefined
  const { activity, stopped } = known ?? {}
  const isThere = state !== 'stopped'
  const rule = isThere ? known?.finding?.rule : undefined
  const keepMs = known?.keepMs ?? 0
  return {
    ...{ kind, id, state },
    ...(isThere && {
      ...given({ lastActivity: activity?.lastMs ?? 0, checkedAt: activity?.checkedMs ?? 0 }),
      ...(activity && activity.source !== '' && { source: activity.source as ShownSource }),
      ...(rule && { rule }),
      ...given({ eligibleAfter: eligibleMs(shown, facts), keepUntil: keepMs > wallMs ? keepMs : 0 }),
    }),
    ...(stopped && { stopped: { at: timeText(stopped.atMs), why: stopped.words } }),
  }
}

/** Zero: never. */
function given<Name extends string>(times: Readonly<Record<Name, number>>): { readonly [N in Name]?: string } {
  const entries = Object.entries<number>(times).filter(([, ms]) => ms > 0)
  return Object.fromEntries(entries.map(([name, ms]) => [name, timeText(ms)])) as { [N in Name]?: string }
}

/** What has happened since the last look counts too. */
function stateOf({ known, facts, isEnding }: Shown): ShownState | undefined {
  if (isEnding || isStopping(known, facts !== undefined)) return 'stopping'
  if (!facts) return known?.stopped && 'stopped'
  const { activity, finding } = known ?? {}
  // The first sight of one that never answered, or is never asked, is no activity.
  if (!activity || !finding || activity.unreachableMs > 0 || finding.rule === '') return 'unknown'
  if (activity.lastMs > activity.checkedMs) return 'active'
  return finding.state === 'warned' && activity.warnedMs === 0 ? 'idle' : finding.state
}

/** Redis has a lab as stopped from the request on, another workload when it has no pod. */
export const isStopping = (known: ActivityView | undefined, isThere: boolean): boolean =>
  known !== undefined && known.stoppingMs > 0 && (isThere || known.stopped === undefined)

/** By the last look, and by what has happened since. */
function eligibleMs({ known, rules }: Shown, facts: WorkloadFacts | undefined): number {
  const { activity, finding, keepMs = 0 } = known ?? {}
  const rule = rules.find(({ name }) => name === finding?.rule)
  if (!finding || finding.eligibleMs === 0) return 0
  const isUsed = activity !== undefined && activity.lastMs > activity.checkedMs
  const usedMs = isUsed && rule?.idleTimeoutSeconds ? activity.lastMs + msOf(rule.idleTimeoutSeconds) : 0
  const endMs = facts && rule && ageEndMs(facts, rule)
  return Math.max(finding.eligibleMs, Math.min(Math.max(usedMs, keepMs), endMs ?? Number.POSITIVE_INFINITY))
}

/** When a workload has its highest age, by the cluster's clock; undefined: there is none, or its start is not known. */
export function ageEndMs({ startedMs }: WorkloadFacts, { maxAgeSeconds }: IdleRule): number | undefined {
  return startedMs === undefined || maxAgeSeconds === undefined ? undefined : startedMs + msOf(maxAgeSeconds)
}

/** What has made a keep-alive shorter than it was asked for. */
export function keepLimitOf(
  askedSeconds: number,
  { keepAlive: { maxSeconds } }: IdleRule,
  untilMs: number,
  endMs: number | undefined,
): KeepLimit | undefined {
  if (endMs !== undefined && untilMs >= endMs) return 'maxAgeSeconds'
  return askedSeconds > maxSeconds ? 'keepAlive.maxSeconds' : undefined
}
