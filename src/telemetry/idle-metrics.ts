/** Metrics of the idle engine, which a process has only where it stops what nobody uses. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { callBuckets } from './buckets.ts'

/** How many workloads of a kind there are, by state and by lane. */
interface Census {
  readonly states: Readonly<Record<string, number>>
  readonly lanes: Readonly<Record<string, number>>
}

export interface IdleGaugeSources {
  /** Kinds of workloads that this process checks. */
  readonly kinds: readonly string[]
  /** @returns undefined if Redis does not answer */
  census(kind: string): Promise<Census | undefined>
}

export type IdleMetrics = ReturnType<typeof createIdleMetrics>

/** In seconds, up to the time after which another replica follows. */
const latenessBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60, 300]

const kindOf = 'kind (lab, notebook, statefulset)'

export function createIdleMetrics(registry: Registry, sources: IdleGaugeSources) {
  const registers = [registry]
  addCensus(registry, sources)
  return {
    checks: new Counter({
      name: 'skylab_idle_checks_total',
      help: `Checks by this replica, by ${kindOf} and result (seen; denied: 401 or 403; unreachable; absent: no pod; operating: an operation runs; blind: the watch was silent; late: another replica followed; failed: Redis or Kubernetes gave no answer)`,
      labelNames: ['kind', 'result'] as const,
      registers,
    }),
    checkDuration: new Histogram({
      name: 'skylab_idle_check_duration_seconds',
      help: `Checks from their taking to their end, by ${kindOf}`,
      labelNames: ['kind'] as const,
      buckets: [...callBuckets, 15, 20],
      registers,
    }),
    checkLateness: new Histogram({
      name: 'skylab_idle_check_lateness_seconds',
      help: `How long after it was due a check began, by ${kindOf} and lane (slow: what did not answer last time, which waits for its like)`,
      labelNames: ['kind', 'lane'] as const,
      buckets: latenessBuckets,
      registers,
    }),
    stops: new Counter({
      name: 'skylab_idle_stops_total',
      help: `Stops that this replica wanted, by ${kindOf}, reason (idle, age, unreachable) and result (requested; changed: somebody came back, or it is another one by now; held: by the fuse; clock: that of Redis was stepped)`,
      labelNames: ['kind', 'reason', 'result'] as const,
      registers,
    }),
    holds: new Counter({
      name: 'skylab_idle_holds_total',
      help: 'What kept this replica from stopping workloads, by cause (fuse: too many stops within a minute, or too many workloads that do not answer; clock: Redis’ clock was stepped; watch: the watches are silent; traffic: no gateway tells what it sees, or one has not for 15 s; cpu: what the pod uses was not measured lately)',
      labelNames: ['cause'] as const,
      registers,
    }),
    cpuLists: new Counter({
      name: 'skylab_idle_cpu_lists_total',
      help: 'Lists by this replica of what all pods use, by result (done; failed: the API of metrics gave no usable answer)',
      labelNames: ['result'] as const,
      registers,
    }),
  }
}

/** A series that begins with its first event hides this event from `increase`. */
export function beginIdleAtZero({ checks, stops, holds, cpuLists }: IdleMetrics, kinds: readonly string[]): void {
  for (const kind of kinds) {
    for (const result of ['seen', 'denied', 'unreachable']) checks.inc({ kind, result }, 0)
    for (const reason of ['idle', 'age', 'unreachable']) stops.inc({ kind, reason, result: 'requested' }, 0)
  }
  for (const result of ['done', 'failed']) cpuLists.inc({ result }, 0)
  for (const cause of ['fuse', 'clock', 'watch', 'traffic', 'cpu']) holds.inc({ cause }, 0)
}

/** One census of each kind for both gauges: they are collected together. */
function addCensus(registry: Registry, { kinds, census }: IdleGaugeSources): void {
  let asked: Promise<readonly (readonly [kind: string, counts: Census])[]> | undefined
  const ask = () => {
    asked ??= Promise.all(
      kinds.map(async kind => [kind, (await census(kind).catch(() => undefined)) ?? nobody] as const),
    ).finally(() => {
      asked = undefined
    })
    return asked
  }
  new Gauge({
    name: 'skylab_idle_workloads',
    help: `Workloads that were checked, by ${kindOf} and state at their last check (active, idle, warned, unknown); every replica reports the same values`,
    labelNames: ['kind', 'state'] as const,
    registers: [registry],
    async collect() {
      const counted = await ask()
      this.reset()
      for (const [kind, { states }] of counted) {
        for (const [state, count] of Object.entries(states)) this.set({ kind, state }, count)
      }
    },
  })
  new Gauge({
    name: 'skylab_idle_lane_workloads',
    help: `Workloads that are to be checked, by ${kindOf} and lane (fast; slow: those that did not answer or refused to at their last check); every replica reports the same values`,
    labelNames: ['kind', 'lane'] as const,
    registers: [registry],
    async collect() {
      const counted = await ask()
      this.reset()
      for (const [kind, { lanes }] of counted) {
        for (const [lane, count] of Object.entries(lanes)) this.set({ kind, lane }, count)
      }
    },
  })
}

const nobody: Census = { states: {}, lanes: {} }
