import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createKeptGauges, type KeptCounts } from './dispatch-kept.ts'

it('createKeptGauges shows what is kept, and nothing when Redis does not tell', async () => {
  const registry = new Registry()
  let count: () => Promise<KeptCounts | undefined> = async () => ({ ended: 3, keptBytes: 25_000, activeBytes: 7_000 })
  createKeptGauges(registry, () => count())
  const lines = async () => (await registry.metrics()).split('\n').filter(line => /^[a-z]/.test(line))
  expect(await lines()).toEqual([
    'skylab_dispatch_kept_bytes 25000',
    'skylab_dispatch_active_bytes 7000',
    'skylab_dispatch_kept_containers 3',
  ])
  count = async () => undefined
  expect(await lines()).toEqual([])
  count = async () => {
    throw new Error('Redis is silent')
  }
  expect(await lines()).toEqual([])
})
