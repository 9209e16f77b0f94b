import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'

it('can be made twice in one process', async () => {
  const [first, second] = [createMetrics(new Registry()), createMetrics(new Registry())]
  first.eventStreamsCut.inc()
  expect(await second.registry.metrics()).toMatch(/^skylab_event_streams_cut_total 0$/m)
})

it('keeps to the conventions of names, and has no label of users', () => {
  const suffixes: Record<string, RegExp> = { Counter: /_total$/, Histogram: /_seconds$/, Gauge: /_(open|active)$/ }
  for (const metric of createMetrics(new Registry()).registry.getMetricsAsArray()) {
    expect(metric.name).toMatch(/^skylab_[a-z_]+$/)
    expect(metric.name).toMatch(suffixes[metric.constructor.name]!)
    expect((metric as unknown as { labelNames: string[] }).labelNames).not.toContain('user')
  }
})
