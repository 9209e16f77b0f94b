import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createCostGauge, type Priced } from './dispatch-cost.ts'

async function linesOf(machines: () => Promise<readonly Priced[]>): Promise<readonly string[]> {
  const registry = new Registry()
  createCostGauge(registry, { machines, types: new Set(['small']), tenants: new Set(['default', 'physics']) })
  await registry.metrics()
  return (await registry.metrics()).split('\n').filter(line => line.startsWith('skylab_dispatch_price_per_hour{'))
}

const machine = (type: string, tenant: string, price: number): Priced => ({ type, tenant, price })

it('createCostGauge adds up prices by type and tenant, at each scrape anew', async () => {
  const found = [machine('small', 'physics', 0.25), machine('small', 'physics', 0.25), machine('small', 'default', 1)]
  expect(await linesOf(async () => found)).toEqual([
    'skylab_dispatch_price_per_hour{instance_type="small",tenant="physics"} 0.5',
    'skylab_dispatch_price_per_hour{instance_type="small",tenant="default"} 1',
  ])
})

it('createCostGauge has one label for all that the configuration does not name', async () => {
  const found = Array.from({ length: 100 }, (_, i) => machine(`old-${i}`, `gone-${i}`, 1))
  expect(await linesOf(async () => found)).toEqual([
    'skylab_dispatch_price_per_hour{instance_type="other",tenant="other"} 100',
  ])
})

it('createCostGauge tells nothing when Redis does not answer', async () => {
  expect(await linesOf(() => Promise.reject(new Error('away')))).toEqual([])
})
