/** Joins the metrics of containers and machines: Arvados' names, and ours. */
import { type OfferedType, rulesOf } from '../../dispatch/configured.ts'
import type { Sight } from '../../machines/sight.ts'
import { gaugesOf } from '../../pool/gauges.ts'
import type { PassReport, Scheduler } from '../../pool/scheduler.ts'
import { createDispatchGauges } from '../../telemetry/dispatch-gauges.ts'
import { createDispatchMetrics, type DispatchMetrics, type driverOperations } from '../../telemetry/dispatch-metrics.ts'
import type { Basics } from '../basics.ts'
import type { DispatchStore } from './store.ts'

const operations: Readonly<Record<string, (typeof driverOperations)[number]>> = {
  create: 'Create',
  list: 'List',
  destroy: 'Destroy',
  setTags: 'SetTags',
}

export type DispatchSight = ReturnType<typeof joinSight>

export function joinSight({ metrics: { registry } }: Basics) {
  const metrics = createDispatchMetrics(registry)
  const waits = new Set<() => number>()
  return {
    metrics,
    machines: sightOf(metrics, waited => {
      waits.add(waited)
      return () => waits.delete(waited)
    }),
    spoolLagSeconds: () => Math.max(0, ...waits.values().map(waited => waited())),
    onCall: (operation: string, error: string | undefined) => {
      const name = operations[operation]
      if (name) metrics.driverOperations.inc({ operation: name, error: error === undefined ? '0' : '1' })
    },
    onPass: ({ readMs, decideMs, writeMs }: PassReport) => {
      for (const [part, ms] of Object.entries({ read: readMs, decide: decideMs, write: writeMs }))
        metrics.passDuration.observe({ part }, ms / 1000)
    },
    onAdopted: (answer: 'adopted' | 'late') => {
      if (answer === 'late') metrics.leaksDestroyed.inc({ kind: 'instance' })
    },
    onRemoved: (count: number) => void metrics.leaksDestroyed.inc({ kind: 'nic' }, count),
  }
}

/** Redis' clock may go back. */
const since = (seconds: number) => Math.max(0, seconds)

const sightOf = (metrics: DispatchMetrics, listens: Sight['listens']): Sight => ({
  reached: seconds => metrics.timeToSsh.observe(since(seconds)),
  ready: seconds => metrics.timeToReady.observe(seconds),
  booted: outcome => metrics.bootOutcomes.inc({ outcome }),
  vanished: state => metrics.instancesDisappeared.inc({ state }),
  gone: seconds => metrics.timeToGone.observe(since(seconds)),
  asked: (isAnswered, seconds) => metrics.probeDuration.observe({ outcome: isAnswered ? 'success' : 'fail' }, seconds),
  began: seconds => metrics.timeFromQueue.observe(since(seconds)),
  stale: reason => metrics.staleRefused.inc({ reason }),
  listens,
})

/** Heads of groups are enough: the first of each waits longest, where priorities are equal. */
const limits = { perGroup: 1, inAll: 1_000 }

export interface GaugedParts {
  readonly types: ReadonlyMap<string, OfferedType>
  /** Machines that this replica keeps. */
  readonly owned: () => number
  readonly scheduler: Pick<Scheduler, 'maxContainers'>
}

export function addDispatchGauges(
  { metrics: { registry }, config }: Basics,
  { scheduling, containers, machines: store }: DispatchStore,
  { spoolLagSeconds }: DispatchSight,
  { types, owned, scheduler }: GaugedParts,
): void {
  const { timeoutProbeMs } = rulesOf(config.dispatch!)
  const census = async () => {
    const [reading, counts, unasked] = await Promise.all([
      scheduling.read(limits),
      containers.counts(),
      store.unasked(),
    ])
    if (!reading || !counts) return undefined
    const { machines, throttle, nowMs, queue } = reading
    const oldestMs = queue.length === 0 ? 0 : Math.min(...queue.map(({ queuedMs }) => queuedMs))
    return gaugesOf({
      ...{ machines, throttle, nowMs, unasked, timeoutProbeMs, maxContainers: scheduler.maxContainers },
      ...{ types: [...types.values()], counts: { waiting: counts.waiting, oldestMs } },
    })
  }
  createDispatchGauges(registry, { census, owned, spoolLagSeconds })
}
