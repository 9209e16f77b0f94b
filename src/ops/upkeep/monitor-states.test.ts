import { describe, expect, it } from 'vitest'
import { namespaceObject, podObject } from '../testing/cluster.ts'
import { inPhase, makeMonitor, settled } from '../testing/monitor.ts'

type Made = ReturnType<typeof makeMonitor>

describe('Monitor', () => {
  it('judges the last of several states of a pod within 0.6 s, and reads no other', async () => {
    const { monitor, written, show, pass, reads } = makeMonitor()
    monitor.start()
    for (const phase of ['Pending', 'Running', 'Failed']) show(phase)
    await pass(400)
    expect(written).toEqual([])
    await pass(200)
    expect(written).toEqual(['failed'])
    expect(reads()).toBe(0)
  })

  it('looks at no pod while an operation runs, and judges it at its end', async () => {
    const { monitor, written, show, ring, pass, lists } = makeMonitor()
    monitor.start()
    ring('accepted')
    const before = lists()
    show('Failed')
    await pass(600)
    expect(lists()).toBe(before)
    expect(written).toEqual([])
    ring('ended')
    await settled()
    expect(written).toEqual(['failed'])
  })

  it('judges each state that lasts', async () => {
    const { monitor, written, show, pass } = makeMonitor()
    monitor.start()
    show('Running')
    await pass(600)
    show('Succeeded')
    await pass(600)
    expect(written).toEqual(['ended'])
  })

  it('judges the last state of a pod that is gone before its judgement, and then that it is gone', async () => {
    const { cluster, monitor, written, show, pass } = makeMonitor()
    monitor.start()
    show('Failed')
    show('Failed', { goneUid: podObject().metadata.uid })
    cluster.seen = { namespace: namespaceObject() }
    await settled()
    expect(written).toEqual(['failed', 'failed gone'])
    await pass(600)
    expect(written).toHaveLength(2)
  })

  it.each([
    ['is being deleted', {}],
    ['is gone', { goneUid: podObject().metadata.uid }],
  ])('judges a lab that ended well as such when its pod %s before its judgement', async (_, gone) => {
    const { written, monitor, show, pass, reads } = makeMonitor()
    monitor.start()
    show('Running')
    show('Succeeded')
    show('Succeeded', gone, true)
    await pass(600)
    expect(written[0]).toBe('ended')
    expect(reads()).toBeLessThanOrEqual(3)
  })

  it('judges a pod that was deleted before it ended as failed', async () => {
    const { written, monitor, show, pass } = makeMonitor()
    monitor.start()
    show('Running')
    show('Running', {}, true)
    show('Succeeded', {}, true)
    await pass(600)
    expect(written).toEqual(['failed'])
  })

  it('judges every pod at its start at once', async () => {
    const { cluster, monitor, written } = makeMonitor()
    cluster.seen = { namespace: namespaceObject(), pod: inPhase('Failed') }
    monitor.start()
    await settled()
    expect(written).toEqual(['failed'])
  })

  it.each([
    [
      'from a change',
      async ({ show, pass }: Made) => {
        show('Unknown')
        await pass(600)
        await pass(1_100)
      },
    ],
    [
      'at the end of an operation',
      async ({ show, pass, ring }: Made) => {
        show('Unknown')
        await pass(600)
        ring('accepted')
        await pass(1_100)
        ring('ended')
        await settled()
      },
    ],
  ])('judges a pod %s by its state at the retry when Redis was away', async (_, fail) => {
    const made = makeMonitor()
    made.monitor.start()
    made.redis.isAway = true
    await fail(made)
    expect(made.redis.refused).toBe(1)
    made.show('Running')
    made.redis.isAway = false
    await made.pass(400)
    expect(made.written).toEqual([])
    expect(made.cluster.requests).toEqual(['get Pod'])
  })

  it('judges a lab that ended well as such when its pod is being deleted at the retry', async () => {
    const { cluster, monitor, redis, written, show, pass } = makeMonitor()
    cluster.seen = { namespace: namespaceObject(), pod: inPhase('Succeeded') }
    redis.isAway = true
    monitor.start()
    await settled()
    expect(redis.refused).toBe(1)
    show('Succeeded', {}, true)
    redis.isAway = false
    await pass(400)
    expect(written[0]).toBe('ended')
  })

  it('judges the last state of a pod that is gone at the retry', async () => {
    const { cluster, monitor, redis, written, show, pass } = makeMonitor()
    monitor.start()
    redis.isAway = true
    show('Succeeded')
    await pass(600)
    expect(redis.refused).toBe(1)
    cluster.seen = { namespace: namespaceObject() }
    redis.isAway = false
    await pass(400)
    expect(written).toEqual(['ended'])
  })
})
