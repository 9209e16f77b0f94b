/** How often a turn looks, and when the last look does not count. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { holding, looksOf, noting } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

describe('Reconciler and its looks', () => {
  test('looks once where nothing happens while a turn waits', async () => {
    const counted = { looks: 0 }
    let mark = '1'
    const effects = () => ({ effects: [{ name: 'route', mark, apply: async () => {} }] })
    const { reconciler } = samples.replica({
      change: ((kind: never) => looksOf(counted)(holding(effects)(kind))) as never,
    })
    samples.put('one')
    await samples.pass(1_000)
    counted.looks = 0
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(1_000)
    expect(counted.looks).toBe(1)
  })

  test('looks again when the key is asked for while a turn waits', async () => {
    samples.replica()
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    samples.put('one', { image: 'app:1' })
    await samples.pass(100)
    samples.put('one', { image: 'app:2' })
    await samples.pass(100)
    late.resolve()
    samples.leases.late = undefined
    await samples.pass(500)
    const made = samples.written().filter(write => write.includes('Deployment'))
    expect([made, JSON.stringify(samples.get('Deployment', 's-one')!.spec)]).toEqual([
      ['create Deployment s-one'],
      expect.stringContaining('app:2'),
    ])
  })

  test('looks again when the time of a verdict comes while a turn waits', async () => {
    const dueMs = samples.clock.wallMs() + 300
    samples.replica({ change: holding(nowMs => (nowMs < dueMs ? { dueMs, objects: [] } : {})) as never })
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    samples.put('one')
    await samples.pass(500)
    late.resolve()
    samples.leases.late = undefined
    await samples.pass(200)
    expect(samples.names('Deployment')).toEqual(['s-one'])
  })

  test('looks again when its status was refused for another’s', async () => {
    const { sights } = samples.replica()
    samples.put('one')
    await samples.pass(1_000)
    samples.api.stall(sights.samples)
    const known = samples.get('Sample', 'one')!
    samples.api.put({ ...known, metadata: { ...known.metadata, labels: { theirs: 'x' } } })
    const reports = samples.written().length
    samples.api.put({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's-one', namespace: 'n' } })
    await samples.pass(1_000)
    expect([reports > 0, samples.phase('one')]).toEqual([true, 'Conflict'])
    expect(samples.written().filter(write => write === 'status Sample one').length).toBeLessThanOrEqual(2)
  })

  test('says of a parent only what it has looked at when it wrote the parent itself meanwhile', async () => {
    let note = ''
    const { reconciler, sights } = samples.replica({ change: noting(() => note) as never })
    samples.put('one')
    await samples.pass(2_000)
    const late = Promise.withResolvers<void>()
    samples.leases.late = late.promise
    note = 'changed'
    reconciler.poke('n/one')
    await samples.pass(100)
    samples.written()
    samples.api.stall(sights.samples)
    sights.samples.lay(samples.put('one', { image: 'app:2' }))
    samples.leases.late = undefined
    late.resolve()
    await samples.pass(300)
    samples.api.catchUp(sights.samples)
    expect(samples.written()).toEqual(['patch Deployment s-one', 'status Sample one'])
  })

  test('reads the parent before it undoes what was changed while an effect was written', async () => {
    const written = Promise.withResolvers<void>()
    let mark = '1'
    const apply = async () => {
      if (mark === '2') await written.promise
    }
    const { reconciler } = samples.replica({
      change: holding(() => ({ effects: [{ name: 'route', mark, apply }] })) as never,
    })
    samples.put('one')
    await samples.pass(2_000)
    const reads = samples.reads()
    mark = '2'
    reconciler.poke('n/one')
    await samples.pass(100)
    samples.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-one' })
    await samples.pass(50)
    written.resolve()
    await samples.pass(500)
    expect([reads, samples.names('Service')]).toEqual([['Sample one'], ['s-one']])
  })
})
