/** One look at a workload: which sources its rule names, and whether it may be asked now. */
import type { Clock } from '../base/clock.ts'
import type { IdleRule } from '../config/idle.ts'
import type { Activity } from '../store/idle.ts'
import type { Look } from './looks/evidence.ts'
import { probe } from './looks/probe.ts'
import type { JupyterSource, Sources } from './looks/questions.ts'
import type { Known, WorkloadFacts, WorkloadOwner } from './workloads/workload.ts'

/** A watch that is silent for longer may show the address of a pod that is gone, and that another one has by now. */
export const freshMs = 10_000

export interface LookOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Whether the workload is still this replica's. */
  readonly isInTime: () => boolean
  /** Asks a workload. Only tests have another one. */
  readonly probe?: typeof probe | undefined
}

const jupyterSources: readonly string[] = ['kernels', 'terminals', 'server'] satisfies JupyterSource[]

const notAsked: Look = { kind: 'seen', busy: false, ageMs: undefined, source: undefined }

/** Whether the watches of its pods show the present. */
export const isFresh = (owner: Pick<WorkloadOwner, 'silenceMs'>): boolean => owner.silenceMs() < freshMs

/**
 * @returns undefined if it must not be asked now: nothing recent is known of its pod, or another replica may ask it by now
 * @throws {RetryLater} {KubeError} when its credential cannot be read, and the reason of the signal
 */
export async function lookAt(
  options: LookOptions,
  owner: WorkloadOwner,
  facts: WorkloadFacts,
  known: Known,
  rule: IdleRule | undefined,
  signal: AbortSignal,
): Promise<Look | undefined> {
  const questions = rule && questionsOf(rule, known.read.activity)
  if (!questions) return notAsked
  if (!facts.mayBeAsked) return { kind: 'unreachable', words: 'its pod is not ready' }
  const target = await known.target(signal, rule.address)
  // The last moment before the credential leaves.
  if (!options.isInTime() || !isFresh(owner) || owner.facts(facts.id)?.podUid !== facts.podUid) return undefined
  return (options.probe ?? probe)(options.clock, target, { ...questions, timeoutMs: options.timeoutMs, signal })
}

/** @returns undefined if the rule asks nothing of it: its activity is reported by others */
function questionsOf({ sources, metric, json }: IdleRule, activity: Activity | undefined): Sources | undefined {
  const asked = sources.filter((source): source is JupyterSource => jupyterSources.includes(source))
  if (asked.length === 0 && !metric && !json) return undefined
  return {
    sources: asked,
    metric: metric && { ...metric, as: metric.is },
    json: json && { ...json, as: json.is },
    readings: activity?.readings,
  }
}
