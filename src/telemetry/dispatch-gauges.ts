/** Metrics of containers and machines that are computed at each scrape. */
import { Gauge, type Registry } from 'prom-client'
import { type DispatchCensus, instanceCategories } from '../dispatch/census.ts'

export interface DispatchGaugeSources {
  /** Undefined if Redis does not answer, or its data are not compared yet. */
  census(): Promise<DispatchCensus | undefined>
  /** Machines that this replica keeps. */
  owned(): number
  /** Since when the oldest entry of a spool waits that this replica has not stored; 0 without one. */
  spoolLagSeconds(): number
}

/** A scrape counts once, whatever the number of gauges. */
export function createDispatchGauges(registry: Registry, sources: DispatchGaugeSources): void {
  // Gauges of one scrape are collected in one turn.
  let counted: Promise<DispatchCensus | undefined> | undefined
  const census = () => {
    counted ??= sources
      .census()
      .catch(() => undefined)
      .finally(() => {
        counted = undefined
      })
    return counted
  }
  addNumbers(registry, census)
  addMachines(registry, census)
  new Gauge({
    name: 'skylab_dispatch_owned',
    help: 'Machines that this replica keeps: it has their lease and their connection',
    registers: [registry],
    collect() {
      this.set(sources.owned())
    },
  })
  new Gauge({
    name: 'skylab_dispatch_spool_lag_seconds',
    help: 'Time since this replica got the oldest entry of a runner’s spool that it has not stored yet; 0 without one',
    registers: [registry],
    collect() {
      this.set(sources.spoolLagSeconds())
    },
  })
}

type Count = () => Promise<DispatchCensus | undefined>
type NumberOf = Exclude<keyof DispatchCensus, 'byType' | 'inDoubt'>

const arvados = 'arvados_dispatchcloud_'

const helps: Readonly<Record<NumberOf, string>> = {
  containers_running: 'Number of containers reported running by cloud VMs',
  containers_allocated_not_started:
    'Number of containers allocated to a worker but not started yet (worker is booting)',
  containers_not_allocated_over_quota:
    'Number of containers not allocated to a worker because the system has hit a quota',
  containers_longest_wait_time_seconds:
    'Current longest wait time of any container since queuing, and before its start',
  max_concurrent_containers: 'Dynamically assigned limit on number of containers scheduled concurrency; 0 without one',
  at_quota: 'Flag indicating the cloud driver is reporting an at-quota condition',
  probe_age_seconds_max: "Maximum number of seconds since an instance's most recent successful probe",
  probe_age_seconds_median: "Median number of seconds since an instance's most recent successful probe",
}

const ofAll = 'every replica reports the same value'
const ofOne = 'the replica that schedules reports it'

function addNumbers(registry: Registry, count: Count): void {
  const add = (name: string, help: string, read: (census: DispatchCensus) => number | undefined) =>
    new Gauge({
      ...{ name, help },
      registers: [registry],
      async collect() {
        const census = await count()
        const value = census && read(census)
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  for (const [name, help] of Object.entries(helps)) {
    const who = name === 'max_concurrent_containers' ? ofOne : ofAll
    add(`${arvados}${name}`, `${help}; ${who}`, census => census[name as NumberOf])
  }
  add(
    'skylab_dispatch_in_doubt',
    `Machines whose state nobody knows: they were not asked since a loss of data, or have answered no probe for TimeoutProbe; ${ofAll}`,
    census => census.inDoubt,
  )
}

const sums = [
  ['instances_price', 'Price of cloud VMs'],
  ['vcpus_total', 'Total VCPUs on all cloud VMs'],
  ['memory_bytes_total', 'Total memory on all cloud VMs'],
] as const

function addMachines(registry: Registry, count: Count): void {
  new Gauge({
    name: `${arvados}instances_total`,
    help: `Number of cloud VMs, by category (inuse, hold, booting, unknown, idle) and type; ${ofAll}`,
    labelNames: ['category', 'instance_type'] as const,
    registers: [registry],
    async collect() {
      const census = await count()
      this.reset()
      for (const [type, { instances_total }] of census?.byType ?? []) {
        for (const category of instanceCategories)
          this.set({ category, instance_type: type }, instances_total[category])
      }
    },
  })
  for (const [key, help] of sums) {
    new Gauge({
      ...{ name: `${arvados}${key}`, help: `${help}, by category; ${ofAll}` },
      labelNames: ['category'] as const,
      registers: [registry],
      async collect() {
        const census = await count()
        this.reset()
        if (!census) return
        for (const category of instanceCategories) {
          this.set(
            { category },
            [...census.byType.values()].reduce((sum, each) => sum + each[key][category], 0),
          )
        }
      },
    })
  }
}
