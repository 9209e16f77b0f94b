/** For tests: a monitor that has seen a namespace and no pod yet, and the outcomes that it writes. */
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { Listeners } from '../../base/listeners.ts'
import { labOf } from '../../base/subject.ts'
import { configSchema } from '../../config/schema.ts'
import { projectPod } from '../../kube/pods/project.ts'
import type { Ring } from '../../store/rings.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { noAudit } from '../audit.ts'
import { Debris, type DebrisOptions } from '../upkeep/debris.ts'
import { Monitor, type MonitorOptions } from '../upkeep/monitor.ts'
import { FakeCluster, installation, names, namespaceObject, podObject, trust } from './cluster.ts'

export const settled = () => new Promise(resolve => setImmediate(resolve))

export const inPhase = (phase: string, terminating = false): KubeObject => ({
  ...{ ...podObject({ terminating }), status: { phase } },
})

/** Grace periods, in ms. */
export const graceMs = 1_000

export function makeMonitor() {
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
  const shared = { store, view, namespacePrefix: 'nublado', log: silentLogger() }
  const debris = new Debris({
    ...{ ...shared, config: configSchema.parse({ installation }), kube: cluster.kube, trust, compare: () => {} },
    ...{ metrics: createMetrics(new Registry()), signal: new AbortController().signal },
  } as unknown as DebrisOptions)
  const monitor = new Monitor({
    ...{ ...shared, debris, bell: { on: bell.add.bind(bell) }, clock, audit: noAudit },
    ...{ deleteTimeoutMs: 1_000, crashLoopGraceMs: graceMs, unknownGraceMs: graceMs },
  } as unknown as MonitorOptions)
  onTestFinished(() => monitor.stop())
  cluster.seen = { namespace: namespaceObject() }
  let read = 0
  /** The pod changes, and the watch shows its new state. */
  const showPod = (object: KubeObject, gone: object = {}) => {
    cluster.real = { ...cluster.seen, pod: object }
    cluster.seen = cluster.real
    const pod = projectPod(object)
    const change = { namespace: names.namespace, podUid: pod.uid, ...gone }
    const get = () => {
      read++
      return pod
    }
    cluster.change(Object.defineProperty(change, 'pod', { get }))
  }
  const show = (phase: string, gone: object = {}, terminating = false) => showPod(inPhase(phase, terminating), gone)
  const pass = async (ms: number) => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  const ring = (what: 'accepted' | 'ended') => bell.notify({ what, subject: labOf('ada'), op: 7 })
  return { cluster, monitor, redis, written, show, showPod, ring, pass, reads: () => read, lists: () => listed }
}
