import { describe, expect, it } from 'vitest'
import { watchUntil } from './lab-context.ts'
import { FakeCluster, fakeContext, names } from './testing/cluster.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))
const change = { namespace: names.namespace }

describe('watchUntil', () => {
  it('looks at once, and at every change of this namespace', async () => {
    const cluster = new FakeCluster()
    const { context } = fakeContext(cluster)
    let looks = 0
    const found = watchUntil(context, async () => {
      looks += 1
      return looks === 3 ? 'found' : undefined
    })
    await settled()
    expect(looks).toBe(1)
    cluster.change({ namespace: 'another' })
    await settled()
    expect(looks).toBe(1)
    cluster.change(change)
    await settled()
    expect(looks).toBe(2)
    cluster.change(change)
    expect(await found).toBe('found')
    expect(cluster.listeners).toBe(0)
  })

  it('looks again when something changed while it looked', async () => {
    const cluster = new FakeCluster()
    const { context } = fakeContext(cluster)
    let looks = 0
    const found = watchUntil(context, async () => {
      looks += 1
      if (looks > 1) return 'found'
      cluster.change(change)
      return undefined
    })
    expect(await found).toBe('found')
  })

  it('looks again after the shortest time passed to wakeInMs', async () => {
    const cluster = new FakeCluster()
    const { context, clock } = fakeContext(cluster)
    let looks = 0
    const found = watchUntil(context, async wakeInMs => {
      looks += 1
      wakeInMs(5000)
      wakeInMs(700)
      return looks === 2 ? 'found' : undefined
    })
    expect(await clock.sleepBetween(0, 10_000)).toBe(700)
    clock.advance(700)
    expect(await found).toBe('found')
  })

  it('ends with the signal’s reason, whether that comes before, during or between looks', async () => {
    const cluster = new FakeCluster()
    const early = fakeContext(cluster, { signal: AbortSignal.abort(new Error('over')) })
    await expect(watchUntil(early.context, async () => 'found')).rejects.toThrow('over')
    for (const during of [true, false]) {
      const controller = new AbortController()
      const { context } = fakeContext(cluster, { signal: controller.signal })
      const waiting = watchUntil(context, async () => {
        if (during) controller.abort(new Error('over'))
        return undefined
      })
      const outcome = expect(waiting).rejects.toThrow('over')
      await settled()
      controller.abort(new Error('over'))
      await outcome
    }
    expect(cluster.listeners).toBe(0)
  })

  it('removes its listener when the look fails', async () => {
    const cluster = new FakeCluster()
    const { context } = fakeContext(cluster)
    const look = async () => {
      throw new Error('a bug')
    }
    await expect(watchUntil(context, look)).rejects.toThrow('a bug')
    expect(cluster.listeners).toBe(0)
  })
})
