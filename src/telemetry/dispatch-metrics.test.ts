import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { DispatchCensus } from '../dispatch/census.ts'
import { createDispatchGauges } from './dispatch-gauges.ts'
import { createDispatchMetrics } from './dispatch-metrics.ts'

const none = { inuse: 0, hold: 0, booting: 0, unknown: 0, idle: 0 }
const census: DispatchCensus = {
  ...{ containers_running: 2, containers_allocated_not_started: 1, containers_not_allocated_over_quota: 3 },
  ...{ containers_longest_wait_time_seconds: 12.5, max_concurrent_containers: 0, at_quota: 1 },
  ...{ probe_age_seconds_max: 11, probe_age_seconds_median: 4, inDoubt: 1 },
  byType: new Map([
    [
      'small',
      {
        ...{ instances_total: { ...none, inuse: 2 }, instances_price: { ...none, inuse: 0.2 } },
        ...{ vcpus_total: { ...none, inuse: 4 }, memory_bytes_total: { ...none, inuse: 16 } },
      },
    ],
    [
      'large',
      {
        ...{ instances_total: { ...none, inuse: 1 }, instances_price: { ...none, inuse: 1 } },
        ...{ vcpus_total: { ...none, inuse: 16 }, memory_bytes_total: { ...none, inuse: 64 } },
      },
    ],
  ]),
}

describe('createDispatchGauges', () => {
  it('shows the census by names and labels of Arvados, counted once for a scrape', async () => {
    const registry = new Registry()
    let counts = 0
    const count = async () => {
      counts += 1
      return census
    }
    createDispatchGauges(registry, { census: count, owned: () => 7, spoolLagSeconds: () => 0.5 })
    const text = await registry.metrics()
    expect(counts).toBe(1)
    for (const line of [
      'arvados_dispatchcloud_containers_running 2',
      'arvados_dispatchcloud_containers_longest_wait_time_seconds 12.5',
      'arvados_dispatchcloud_max_concurrent_containers 0',
      'arvados_dispatchcloud_at_quota 1',
      'arvados_dispatchcloud_instances_total{category="inuse",instance_type="small"} 2',
      'arvados_dispatchcloud_instances_total{category="idle",instance_type="small"} 0',
      'arvados_dispatchcloud_instances_price{category="inuse"} 1.2',
      'arvados_dispatchcloud_vcpus_total{category="inuse"} 20',
      'arvados_dispatchcloud_memory_bytes_total{category="inuse"} 80',
      'skylab_dispatch_in_doubt 1',
      'skylab_dispatch_owned 7',
      'skylab_dispatch_spool_lag_seconds 0.5',
    ]) {
      expect(text.split('\n')).toContain(line)
    }
  })

  it('leaves out what Redis does not tell now', async () => {
    const registry = new Registry()
    let known: DispatchCensus | undefined = census
    createDispatchGauges(registry, { census: async () => known, owned: () => 0, spoolLagSeconds: () => 0 })
    await registry.metrics()
    known = undefined
    const lines = (await registry.metrics()).split('\n').filter(line => /^[a-z]/.test(line))
    expect(lines).toEqual(['skylab_dispatch_owned 0', 'skylab_dispatch_spool_lag_seconds 0'])
  })

  it('leaves out the limit of containers alone while another replica schedules', async () => {
    const registry = new Registry()
    const known = { ...census, max_concurrent_containers: undefined }
    createDispatchGauges(registry, { census: async () => known, owned: () => 0, spoolLagSeconds: () => 0 })
    const text = await registry.metrics()
    expect(text).not.toMatch(/^arvados_dispatchcloud_max_concurrent_containers /m)
    expect(text).toMatch(/^arvados_dispatchcloud_containers_running 2$/m)
  })

  it('leaves them out when the count fails', async () => {
    const registry = new Registry()
    const census = async () => {
      throw new Error('Redis is silent')
    }
    createDispatchGauges(registry, { census, owned: () => 0, spoolLagSeconds: () => 0 })
    expect(await registry.metrics()).not.toMatch(/^arvados_/m)
  })
})

describe('createDispatchMetrics', () => {
  it('begins the counters at 0', async () => {
    const registry = new Registry()
    const { bootOutcomes } = createDispatchMetrics(registry)
    bootOutcomes.inc({ outcome: 'success' })
    const text = await registry.metrics()
    expect(text).toMatch(/^arvados_dispatchcloud_boot_outcomes\{outcome="success"\} 1$/m)
    expect(text).toMatch(/^arvados_dispatchcloud_boot_outcomes\{outcome="disappeared"\} 0$/m)
    expect(text).toMatch(/^arvados_dispatchcloud_driver_operations\{operation="SetTags",error="1"\} 0$/m)
    expect(text).toMatch(/^arvados_dispatchcloud_instances_disappeared\{state="shutdown"\} 0$/m)
    expect(text).toMatch(/^skylab_dispatch_stale_refused_total\{reason="run"\} 0$/m)
    expect(text).toMatch(/^skylab_dispatch_leaks_destroyed_total\{kind="nic"\} 0$/m)
    expect(text).toMatch(/^skylab_dispatch_pass_seconds_count\{part="decide"\} 0$/m)
    expect(text).toMatch(/^# TYPE arvados_dispatchcloud_instances_time_to_ssh_seconds summary$/m)
  })
})

/** As in lib/dispatchcloud of Arvados, without `last_503_time` and `queue_entries`: no API server is asked. */
const ofArvados = [
  ['at_quota', 'gauge', []],
  ['boot_outcomes', 'counter', ['outcome']],
  ['containers_allocated_not_started', 'gauge', []],
  ['containers_longest_wait_time_seconds', 'gauge', []],
  ['containers_not_allocated_over_quota', 'gauge', []],
  ['containers_running', 'gauge', []],
  ['containers_time_from_queue_to_crunch_run_seconds', 'summary', []],
  ['driver_operations', 'counter', ['operation', 'error']],
  ['instances_disappeared', 'counter', ['state']],
  ['instances_price', 'gauge', ['category']],
  ['instances_run_probe_duration_seconds', 'summary', ['outcome']],
  ['instances_time_from_shutdown_request_to_disappearance_seconds', 'summary', []],
  ['instances_time_to_ready_for_container_seconds', 'summary', []],
  ['instances_time_to_ssh_seconds', 'summary', []],
  ['instances_total', 'gauge', ['category', 'instance_type']],
  ['max_concurrent_containers', 'gauge', []],
  ['memory_bytes_total', 'gauge', ['category']],
  ['probe_age_seconds_max', 'gauge', []],
  ['probe_age_seconds_median', 'gauge', []],
  ['vcpus_total', 'gauge', ['category']],
]

it('metrics with Arvados’ names have its types and labels, and its quantiles', () => {
  const registry = new Registry()
  createDispatchMetrics(registry)
  createDispatchGauges(registry, { census: async () => undefined, owned: () => 0, spoolLagSeconds: () => 0 })
  const all = registry.getMetricsAsArray() as unknown as Record<
    'name' | 'type' | 'labelNames' | 'percentiles',
    unknown
  >[]
  const arvados = all.filter(({ name }) => String(name).startsWith('arvados_'))
  const told = arvados.map(each => [
    String(each.name).replace('arvados_dispatchcloud_', ''),
    each.type,
    each.labelNames,
  ])
  expect(told.sort()).toEqual(ofArvados)
  for (const { type, percentiles } of arvados)
    if (type === 'summary') expect(percentiles).toEqual([0.5, 0.9, 0.95, 0.99])
})
