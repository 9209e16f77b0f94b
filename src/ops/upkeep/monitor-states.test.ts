import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { Listeners } from '../../base/listeners.ts'
import { labOf } from '../../base/subject.ts'
import { projectPod } from '../../kube/pods/project.ts'
import type { Ring } from '../../store/rings.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { noAudit } from '../audit.ts'
import { FakeCluster, names, namespaceObject, podObject } from '../testing/cluster.ts'
import { Monitor, type MonitorOptions } from './monitor.ts'

const monitors: Monitor[] = []

afterEach(() => {
  for (const monitor of monitors.splice(0)) monitor.stop()
})

const settled = () => new Promise(resolve => setImmediate(resolve))
const inPhase = (phase: string, terminating = false) => ({ ...podObject({ terminating }), status: { phase } })

/** A monitor that has seen a namespace and no pod yet, and the outcomes that it writes. */
function makeMonitor() {
  const cluster = new FakeCluster()
  const clock = new ManualClock()
  const written: string[] = []
  const redis = { isAway: false, refused: 0 }
  const bell = new Listeners<Ring>()
  let listed = 0
  const pods = (name: string) => {
    listed++
    return cluster.view.pods(name)
  }
  const view = { ...cluster.view, pods }
  const store = {
    settlePod: async ({ outcome, detail }: { outcome: string; detail: string }) => {
      if (redis.isAway) {
        redis.refused++
        throw new RetryLater('Redis does not answer')
      }
      written.push([outcome, detail].filter(Boolean).join(' '))
      return true
    },
    standing: async () => ({}),
  }
  const options = {
    ...{ store, bell: { on: bell.add.bind(bell) }, view, clock, log: silentLogger(), audit: noAudit },
    debris: { remove: async () => {}, restore: async () => {}, isPodGone: async () => true },
    ...{ namespacePrefix: 'nublado', deleteTimeoutMs: 1_000, crashLoopGraceMs: 1_000, unknownGraceMs: 1_000 },
  }
  const monitor = new Monitor(options as unknown as MonitorOptions)
  monitors.push(monitor)
  cluster.seen = { namespace: namespaceObject() }
  let read = 0
  /** The watch shows another state of the pod. */
  const show = (phase: string, gone: object = {}, terminating = false) => {
    cluster.seen = { ...cluster.seen, pod: inPhase(phase, terminating) }
    const pod = projectPod(cluster.seen.pod!)
    const change = { namespace: names.namespace, podUid: pod.uid, ...gone }
    const get = () => {
      read++
      return pod
    }
    cluster.change(Object.defineProperty(change, 'pod', { get }))
  }
  const pass = async (ms: number) => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  const ring = (what: 'accepted' | 'ended') => bell.notify({ what, subject: labOf('ada'), op: 7 })
  return { cluster, monitor, redis, written, show, ring, pass, reads: () => read, lists: () => listed }
}

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
    await made.pass(5_000)
    expect(made.written).toEqual([])
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
