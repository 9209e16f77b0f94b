/**
 * Lists what all pods use of processors, for one replica at a time, and notes who is busy by it. It asks `metrics.k8s.io`, which
 * another server answers behind the API server. Where that fails nothing is noted, so nobody counts as idle by it.
 */
import type { Clock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { type Log, logUnexpected } from '../base/log.ts'
import type { IdleRule, WorkloadKind } from '../config/idle.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import { inOperatorsWords, type KubeClient, KubeError } from '../kube/client.ts'
import { collectionPath, registerKind } from '../kube/kinds.ts'
import type { Leases } from '../leases/leases.ts'
import type { Usage, UsageStore } from '../store/usage.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { agoOf, cpuFreshMs, readUsagePage } from './cpu-usage.ts'
import { isFresh } from './look.ts'
import { MalformedAnswer } from './looks/evidence.ts'
import type { WorkloadFacts } from './workloads/workload.ts'

export interface CpuOptions {
  readonly kube: Pick<KubeClient, 'request'>
  readonly store: Pick<UsageStore, 'judge'>
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of the lease. */
  readonly lease: string
  readonly pods: MeasuredPods
  readonly rules: readonly IdleRule[]
  readonly periodSeconds: number
  readonly clock: Clock
  readonly log: Log
  readonly onList: (result: 'done' | 'failed') => void
}

/** The pods of one kind. */
export interface MeasuredPods {
  readonly kind: WorkloadKind
  /** Of their labels. */
  readonly labelSelector: string
  silenceMs(): number
  /** @returns undefined if the watches show none whose pod this is */
  ofPod(namespace: string, name: string): WorkloadFacts | undefined
}

const [apiVersion, kind] = ['metrics.k8s.io/v1beta1', 'PodMetrics']

const pageSize = 500
const mostPages = 1000
/** Of one page, or of the whole list: few servers of metrics know pages. A pod takes less than 1 KiB. */
const maxBytes = 64 * 1024 * 1024
/** Of one script. */
const batchSize = 500

/** The limits of all rules that go by this. */
export const limitsOf = (rules: readonly IdleRule[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    rules.flatMap(({ name, sources, cpu }) => (sources.includes('cpu') && cpu ? [[name, cpu.millicores]] : [])),
  )

export function cpuDuty(options: CpuOptions): Duty {
  const { clock, leases, lease, log, periodSeconds, pods, onList } = options
  registerKind(apiVersion, kind, { plural: 'pods', namespaced: true })
  const trouble = new Rarely({
    ...{ clock, log, trouble: 'nobody knows what pods use of processors' },
    over: 'it is known again what pods use of processors',
  })
  const periodMs = periodSeconds * 1000
  const round = async (take: Take): Promise<DutyRest> => {
    // Nothing could be noted of a pod that the watches do not show yet.
    if (!isFresh(pods) || (await take()) === null) return { ms: periodMs / 4 }
    const beganMs = clock.monotonicMs()
    await listAndJudge(options, duty.signal)
    trouble.worked()
    onList('done')
    return { ms: Math.max(0, beganMs + periodMs - clock.monotonicMs()), keep: true }
  }
  const failed = (error: unknown) => {
    onList('failed')
    if (error instanceof KubeError) trouble.failed(inOperatorsWords(error))
    else if (error instanceof RetryLater || error instanceof MalformedAnswer) trouble.failed(error.message)
    else logUnexpected(log, error, 'the use of processors cannot be noted')
    return { ms: periodMs / 2 }
  }
  const duty = new Duty({ clock, leases, lease, round, failed })
  return duty
}

async function listAndJudge(options: CpuOptions, signal: AbortSignal): Promise<void> {
  const { store, rules, pods, clock } = options
  const beganMs = clock.monotonicMs()
  const usages = await list(options, signal)
  const limits = limitsOf(rules)
  for (let from = 0; from < usages.length; from += batchSize) {
    const tookMs = clock.monotonicMs() - beganMs
    const batch = usages.slice(from, from + batchSize).map(each => ({ ...each, agoMs: each.agoMs + tookMs }))
    await store.judge(pods.kind, batch, limits)
  }
}

/** @returns what is known of pods that run, at the moment of the call */
async function list({ kube, pods, clock, periodSeconds }: CpuOptions, signal: AbortSignal): Promise<readonly Usage[]> {
  const nowMs = clock.wallMs()
  const found = new Map<string, Usage>()
  let next: string | undefined
  for (let pages = 0; pages === 0 || next !== undefined; pages++) {
    if (pages === mostPages) throw new MalformedAnswer('the list of what pods use does not end')
    const query = { labelSelector: pods.labelSelector, limit: pageSize, continue: next }
    const answer = await kube.request('GET', collectionPath(apiVersion, kind), undefined, {
      ...{ query, signal, agent: 'idle', verb: 'list', aggregated: { maxBytes } },
    })
    const page = readUsagePage(answer)
    for (const usage of page.usages) {
      const facts = pods.ofPod(usage.namespace, usage.pod)
      const agoMs = facts && agoOf(usage, nowMs, facts.startedMs, cpuFreshMs(periodSeconds))
      if (!facts || agoMs === undefined) continue
      const { id, podUid } = facts
      const { millicores } = usage
      // The higher one of two figures of a pod counts.
      if (millicores >= (found.get(id)?.millicores ?? 0)) found.set(id, { id, podUid, millicores, agoMs })
    }
    next = page.next
  }
  return [...found.values()]
}
