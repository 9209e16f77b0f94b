/** Joins the metrics of containers and machines: Arvados' names, and ours. */
import type { OfferedType } from '../../dispatch/configured.ts'
import type { Sight } from '../../machines/sight.ts'
import { gaugesOf } from '../../pool/gauges.ts'
import type { PassReport } from '../../pool/scheduler.ts'
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
  const pass = { maxContainers: Number.POSITIVE_INFINITY }
  return {
    metrics,
    machines: sightOf(metrics),
    onCall: (operation: string, error: string | undefined) => {
      const name = operations[operation]
      if (name) metrics.driverOperations.inc({ operation: name, error: error === undefined ? '0' : '1' })
    },
    onPass: ({ readMs, decideMs, writeMs, maxContainers }: PassReport) => {
      pass.maxContainers = maxContainers
      for (const [part, ms] of Object.entries({ read: readMs, decide: decideMs, write: writeMs }))
        metrics.passDuration.observe({ part }, ms / 1000)
    },
    onAdopted: (answer: 'adopted' | 'late') => {
      if (answer === 'late') metrics.leaksDestroyed.inc({ kind: 'instance' })
    },
    onRemoved: (count: number) => void metrics.leaksDestroyed.inc({ kind: 'nic' }, count),
    pass,
  }
}

const sightOf = (metrics: DispatchMetrics): Sight => ({
  reached: seconds => metrics.timeToSsh.observe(Math.max(0, seconds)),
  ready: seconds => metrics.timeToReady.observe(Math.max(0, seconds)),
  booted: outcome => metrics.bootOutcomes.inc({ outcome }),
  gone: seconds => metrics.timeToGone.observe(seconds),
  stale: reason => metrics.staleRefused.inc({ reason }),
})

/** Heads of groups are enough: the first of each waits longest, where priorities are equal. */
const limits = { perGroup: 1, inAll: 1_000 }

export function addDispatchGauges(
  { metrics: { registry } }: Basics,
  { scheduling, containers }: DispatchStore,
  { pass }: DispatchSight,
  { types, owned }: { readonly types: ReadonlyMap<string, OfferedType>; readonly owned: () => number },
): void {
  const census = async () => {
    const [reading, counts] = await Promise.all([scheduling.read(limits), containers.counts()])
    if (!reading || !counts) return undefined
    const { machines, throttle, nowMs, queue, unasked } = reading
    const oldestMs = queue.length === 0 ? 0 : Math.min(...queue.map(({ queuedMs }) => queuedMs))
    const input = { machines, throttle, nowMs, types: [...types.values()], maxContainers: pass.maxContainers }
    return { ...gaugesOf({ ...input, counts: { waiting: counts.waiting, oldestMs } }), inDoubt: unasked }
  }
  createDispatchGauges(registry, { census, owned })
}
