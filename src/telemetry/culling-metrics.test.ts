import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { CullingMetrics } from './culling-metrics.ts'

it('CullingMetrics counts stops by notebook, with the time of the last one', async () => {
  const registry = new Registry()
  const culling = new CullingMetrics(registry)
  culling.culled({ namespace: 'team', name: 'blue' }, 1_000)
  culling.culled({ namespace: 'team', name: 'blue' }, 61_000)
  const text = await registry.metrics()
  expect(text).toContain('notebook_culling_total{namespace="team",name="blue"} 2')
  expect(text).toContain('last_notebook_culling_timestamp_seconds{namespace="team",name="blue"} 61')
})

it('CullingMetrics keeps those that were stopped last, a bounded number', async () => {
  const registry = new Registry()
  const culling = new CullingMetrics(registry, 2)
  for (const name of ['a', 'b', 'a', 'c']) culling.culled({ namespace: 'team', name }, 1_000)
  const text = await registry.metrics()
  const names = [...text.matchAll(/notebook_culling_total\{namespace="team",name="(\w)"\}/g)].map(([, name]) => name)
  expect(names.sort()).toEqual(['a', 'c'])
  expect(text).not.toContain('name="b"')
})
