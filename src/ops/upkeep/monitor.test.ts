import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Listeners } from '../../base/listeners.ts'
import { configSchema } from '../../config/schema.ts'
import { projectPod } from '../../kube/pods/project.ts'
import type { CompareStore, PodFinding } from '../../store/compares.ts'
import type { LabRecord } from '../../store/records.ts'
import type { Ring } from '../../store/rings.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { noAudit } from '../audit.ts'
import { FakeCluster, installation, namespaceObject, podObject, redisMs, trust } from '../testing/cluster.ts'
import { settled } from '../testing/run.ts'
import { Debris } from './debris.ts'
import { Monitor } from './monitor.ts'

const namespaceUid = 'uid-of-nublado-ada'
const podUid = 'uid-of-nb-ada'
const change = { namespace: 'nublado-ada' }
const monitors: Monitor[] = []

afterEach(() => {
  for (const monitor of monitors.splice(0)) monitor.stop()
})

/** The complete lab of an operation. */
function labObjects(op: number, uid = namespaceUid) {
  const pod = podObject({ op })
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid }
  return {
    namespace: namespaceObject({ op, uid }),
    pod: {
      ...pod,
      metadata: { ...pod.metadata, ownerReferences: [owner] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    },
  }
}

/** A monitor of a cluster with ada's lab of operation 7, and what it asks of Redis. */
function makeMonitor(record: Partial<LabRecord> | null = {}, tombstone = 0) {
  const cluster = new FakeCluster()
  const clock = new ManualClock()
  const bell = new Listeners<Ring>()
  const asked: string[] = []
  const known = { op: 7, status: 'running', active: false, namespaceUid, podUid }
  const state = { record: record && { ...known, ...record }, tombstone }
  let isRefused = false
  const store = {
    standing: async () => {
      asked.push('read')
      return { ...state, fingerprint: 'f', nowMs: redisMs }
    },
    settlePod: async ({ outcome, detail }: PodFinding) => {
      asked.push(`write ${outcome} ${detail}`)
      return state.record?.active === false && !isRefused
    },
  } as unknown as CompareStore
  const shared = { store, view: cluster.view, namespacePrefix: 'nublado', log: silentLogger() }
  const debris = new Debris({
    ...{ ...shared, config: configSchema.parse({ installation }), kube: cluster.kube, trust },
    ...{ metrics: createMetrics(new Registry()), signal: new AbortController().signal },
    compare: () => asked.push('compare'),
  })
  const monitor = new Monitor({
    ...{ ...shared, debris, clock, audit: noAudit, deleteTimeoutMs: 1_000 },
    ...{ bell: { on: bell.add.bind(bell) } as never, crashLoopGraceMs: 1_000, unknownGraceMs: 1_000 },
  })
  monitors.push(monitor)
  cluster.real = labObjects(7)
  cluster.show()
  monitor.start()
  const ring = async (what: 'accepted' | 'failed' | 'ended', op = 7, kind = 'lab') => {
    bell.notify({ what, subject: { kind, name: 'ada' }, op })
    await settled()
  }
  const pass = async (ms: number) => {
    await settled()
    clock.advance(ms + 100)
    await settled()
  }
  const refuse = () => {
    isRefused = true
  }
  const lose = () => bell.notify({ what: 'missed' })
  /** The pod's DELETED event. */
  const losePod = async () => {
    const pod = projectPod(cluster.real.pod!)
    cluster.real = { namespace: cluster.real.namespace }
    cluster.seen = { ...cluster.real }
    cluster.change({ ...change, pod, goneUid: pod.uid })
    await settled()
  }
  return { cluster, asked, state, ring, pass, refuse, lose, losePod }
}

describe('Monitor after the end of an operation', () => {
  it('reads no record of a complete lab whose creation did not fail', async () => {
    const { asked, cluster, ring, pass } = makeMonitor()
    await ring('accepted')
    await ring('ended')
    await pass(2_000)
    expect(asked).toEqual([])
    expect(cluster.requests).toEqual([])
  })

  it('removes what a failed operation left, though the lab looks complete', async () => {
    const { asked, cluster, ring, pass } = makeMonitor({ status: 'failed', remains: true })
    await ring('accepted')
    await ring('failed')
    await ring('ended')
    await pass(2_000)
    expect(asked).toEqual(['read'])
    expect(cluster.requests).toEqual([`delete Namespace ${namespaceUid}`])
  })

  it('removes a namespace that a late write of the same operation made', async () => {
    const { asked, cluster, ring, pass } = makeMonitor()
    await ring('accepted')
    await ring('ended')
    cluster.real = { namespace: namespaceObject({ uid: 'late' }) }
    cluster.show()
    await pass(2_000)
    expect(asked).toContain('read')
    expect(cluster.requests).toContain('delete Namespace late')
  })

  it('removes a namespace that is left after a deletion', async () => {
    const { asked, cluster, ring, pass } = makeMonitor(null, 8)
    await ring('ended', 7)
    await pass(2_000)
    await ring('accepted', 8)
    await ring('ended', 8)
    await pass(2_000)
    expect(asked).toEqual(['read'])
    expect(cluster.requests).toEqual([`delete Namespace ${namespaceUid}`])
  })

  it('reads the record when rings were missed', async () => {
    const { asked, ring, pass, lose } = makeMonitor()
    await ring('ended')
    lose()
    await pass(2_000)
    expect(asked).toEqual(['read'])
  })

  it('leaves rings of another kind aside, even about a subject of the same name', async () => {
    const { asked, cluster, ring, pass } = makeMonitor()
    cluster.seen = { namespace: cluster.real.namespace }
    await ring('accepted', 8, 'toy')
    await ring('failed', 8, 'toy')
    await ring('ended', 8, 'toy')
    await pass(2_000)
    expect(asked).toEqual([])
    expect(cluster.requests).toEqual([])
  })

  it('asks for the pod that the watches lack', async () => {
    const { asked, cluster, ring } = makeMonitor()
    cluster.seen = { namespace: cluster.real.namespace }
    await ring('ended')
    expect(asked).toEqual(['read'])
    expect(cluster.requests).toEqual(['get Pod'])
  })
})

describe('Monitor and a new namespace', () => {
  it('reads no record after 20 s when the rings explain it', async () => {
    const { asked, cluster, ring, pass } = makeMonitor()
    cluster.change(change)
    await ring('ended')
    await pass(20_000)
    expect(asked).toEqual([])
  })

  it('reads no record while its operation runs', async () => {
    const { asked, cluster, ring, pass } = makeMonitor({ active: true })
    await ring('accepted')
    cluster.change(change)
    await pass(20_000)
    expect(asked).toEqual([])
  })

  it('reads the record after 20 s when no ring explains it', async () => {
    const { asked, cluster, pass } = makeMonitor(null, 8)
    cluster.change(change)
    await pass(19_800)
    expect(asked).toEqual([])
    await pass(200)
    expect(asked).toEqual(['read'])
    expect(cluster.requests).toEqual([`delete Namespace ${namespaceUid}`])
  })

  it('requests a compare when it is newer than the operation that runs', async () => {
    const { asked, cluster, ring, pass } = makeMonitor({ op: 6 })
    await ring('accepted', 6)
    cluster.change(change)
    await ring('ended', 6)
    await pass(2_000)
    expect(asked).toEqual(['read', 'compare'])
  })
})

describe('Monitor and a pod that is gone', () => {
  it('records it at once between operations', async () => {
    const { asked, losePod } = makeMonitor()
    await losePod()
    expect(asked).toEqual(['write failed gone'])
  })

  it('records it at the end of the creation that runs, and not before', async () => {
    const { asked, state, ring, losePod } = makeMonitor({ active: true })
    await ring('accepted')
    await losePod()
    expect(asked).toEqual([])
    state.record!.active = false
    await ring('ended')
    expect(asked).toContain('write failed gone')
  })

  it('records it when the rings were missed', async () => {
    const { asked, ring, losePod, lose } = makeMonitor({ active: true })
    await ring('accepted')
    await losePod()
    lose()
    await settled()
    expect(asked).toEqual(['write failed gone', 'read'])
  })

  it('forgets it when no operation runs and the record is of another pod', async () => {
    const { asked, losePod, refuse, lose } = makeMonitor()
    refuse()
    await losePod()
    lose()
    await settled()
    expect(asked).toEqual(['write failed gone', 'write failed gone', 'read'])
    lose()
    await settled()
    expect(asked).toHaveLength(3)
  })

  it('asks nothing for a lab that was deleted', async () => {
    const { asked, cluster, ring, pass, losePod } = makeMonitor(null, 8)
    await ring('ended', 7)
    await ring('accepted', 8)
    await losePod()
    cluster.real = {}
    cluster.show()
    await ring('ended', 8)
    await pass(2_000)
    expect(asked).toEqual([])
  })
})
