import performance from 'node:perf_hooks'
import { Registry } from 'prom-client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { servedMetrics } from '../../test/kit/telemetry/served-metrics.ts'
import { beginAtZero, collectProcessMetrics, createMetrics } from './metrics.ts'

it('createMetrics can be called twice in one process', async () => {
  const [first, second] = [createMetrics(new Registry()), createMetrics(new Registry())]
  first.eventStreamsCut.inc()
  expect(await second.registry.metrics()).toMatch(/^skylab_event_streams_cut_total 0$/m)
})

/** Labels with few values. Any other label may have as many values as there are users. */
const labels = new Set([
  'server',
  ...[
    'subject_kind',
    'webhook',
    'kind',
    'result',
    'step',
    'outcome',
    'state',
    'status',
    'verb',
    'code',
    'command',
    'method',
    'route',
    'watch',
    'reason',
    'action',
    'cause',
    'condition',
    'phase',
    'lane',
    'cause',
    'driver',
    'ending',
    'operation',
  ],
  ...['version', 'node', 'run'],
])

it('createMetrics follows the conventions of names, and has no label of users', () => {
  for (const metric of servedMetrics().getMetricsAsArray()) {
    expect(metric.name).toMatch(/^skylab_[a-z_]+$/)
    const kind = metric.constructor.name
    expect(metric.name.endsWith('_total'), metric.name).toBe(kind === 'Counter')
    if (kind === 'Histogram') expect(metric.name).toMatch(/_seconds$/)
    for (const label of (metric as unknown as { labelNames: string[] }).labelNames) expect(labels).toContain(label)
  }
})

it('createMetrics has the well-named metrics of the process', async () => {
  const registry = new Registry()
  collectProcessMetrics(registry)
  const text = await registry.metrics()
  expect(text).toMatch(/^# TYPE nodejs_active_resources gauge$/m)
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name)
  expect(gauges.filter(name => name!.endsWith('_total'))).toEqual([])
})

it('collectProcessMetrics wakes the process 10 times a second when it samples the lag of the event loop', () => {
  const monitor = vi.spyOn(performance, 'monitorEventLoopDelay')
  onTestFinished(() => monitor.mockRestore())
  collectProcessMetrics(new Registry())
  expect(monitor.mock.calls).toEqual([[{ resolution: 100 }]])
})

it('createMetrics has counters at 0 before their first event', async () => {
  const metrics = createMetrics(new Registry())
  beginAtZero(metrics)
  const text = await metrics.registry.metrics()
  expect(text).toMatch(
    /^skylab_operation_duration_seconds_count\{kind="create",result="failed",subject_kind="lab"\} 0$/m,
  )
  expect(text).toMatch(/^skylab_image_prepull_failures_total\{result="refused"\} 0$/m)
  expect(text).toMatch(/^skylab_leases_total\{outcome="lost",subject_kind="lab"\} 0$/m)
  for (const kind of ['namespace', 'pod']) {
    expect(text).toMatch(new RegExp(`^skylab_debris_removed_total\\{kind="${kind}"\\} 0$`, 'm'))
  }
  for (const reason of ['defect', 'misconfigured'])
    expect(text).toContain(`skylab_http_faults_total{reason="${reason}"} 0`)
})
