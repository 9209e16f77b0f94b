import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema.ts'
import type { CompareStore, Standing } from '../../store/compares.ts'
import type { LabRecord } from '../../store/records.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { FakeCluster, installation, namespaceObject, podObject, redisMs, trust } from '../testing/cluster.ts'
import { boundAt } from '../trust.ts'
import { Debris } from './debris.ts'

const known = { op: 7, active: false, namespaceUid: 'uid-of-nublado-ada', podUid: 'uid-of-nb-ada' }

function debrisIn(
  cluster: FakeCluster,
  record: Partial<LabRecord> | null,
  tombstone: number,
  onCompare = () => {},
  metrics = createMetrics(new Registry()),
) {
  const standing = {
    record: record && { ...known, ...record },
    tombstone,
    fingerprint: 'f',
    nowMs: redisMs,
  } as Standing
  return new Debris({
    config: configSchema.parse({ installation }),
    ...{ store: { standing: async () => standing } as unknown as CompareStore, kube: cluster.kube, view: cluster.view },
    ...{ namespacePrefix: 'nublado', trust, log: silentLogger(), signal: new AbortController().signal },
    metrics,
    compare: onCompare,
  })
}

/** The requests to a cluster with the namespace and the pod of operation 7, by the state of Redis. */
async function removeFrom(record: Partial<LabRecord> | null, tombstone = 0, pod = {}, namespace = {}) {
  const cluster = new FakeCluster()
  const object = podObject(pod)
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid: 'uid-of-nublado-ada' }
  cluster.real = {
    namespace: namespaceObject(namespace),
    pod: { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } },
  }
  cluster.show()
  let compares = 0
  const debris = debrisIn(cluster, record, tombstone, () => {
    compares += 1
  })
  await debris.remove('nublado-ada')
  return { requests: cluster.requests, compares }
}

describe('Debris.remove', () => {
  it('removes a namespace that is not the record’s, or has only a tombstone', async () => {
    const removed = { requests: ['delete Namespace uid-of-nublado-ada'], compares: 0 }
    expect(await removeFrom({ namespaceUid: 'another' })).toEqual(removed)
    expect(await removeFrom(null, 8)).toEqual(removed)
  })

  it('removes objects that a failed operation could not remove', async () => {
    const removed = { requests: ['delete Namespace uid-of-nublado-ada'], compares: 0 }
    expect(await removeFrom({ status: 'failed', remains: true })).toEqual(removed)
    expect(await removeFrom({ status: 'failed', remains: true, active: true })).toEqual({ requests: [], compares: 0 })
  })

  it('removes a pod in the record’s namespace that is not the record’s, even with its op', async () => {
    const removed = { requests: ['delete Pod uid-of-nb-ada'], compares: 0 }
    expect(await removeFrom({ status: 'failed', podUid: 'another' })).toEqual(removed)
    expect(await removeFrom({ status: 'failed', podUid: 'another' }, 0, { op: 5 })).toEqual(removed)
  })

  it('leaves objects that are the record’s, an operation’s, terminating or newer', async () => {
    const nothing = { requests: [], compares: 0 }
    expect(await removeFrom({})).toEqual(nothing)
    expect(await removeFrom({ active: true, podUid: 'another', namespaceUid: 'another' })).toEqual(nothing)
    expect(await removeFrom({ podUid: 'another' }, 0, { terminating: true })).toEqual(nothing)
    expect(await removeFrom({ podUid: 'another' }, 0, { op: 8 })).toEqual(nothing)
  })

  it('requests a compare instead when Redis has lost writes', async () => {
    const compared = { requests: [], compares: 1 }
    expect(await removeFrom(null)).toEqual(compared)
    expect(await removeFrom({ op: 6 })).toEqual(compared)
  })

  it('leaves objects with an op beyond the bound, and requests no compare', async () => {
    const op = boundAt(redisMs) + 1
    expect(await removeFrom(null, 0, {}, { op })).toEqual({ requests: [], compares: 0 })
    expect(await removeFrom(null, 0, {}, { op: op - 1 })).toEqual({ requests: [], compares: 1 })
  })
})

describe('Debris’ counter', () => {
  async function countedOf(record: Partial<LabRecord>, standing: object) {
    const cluster = new FakeCluster()
    cluster.real = { namespace: namespaceObject(), pod: podObject() }
    cluster.show()
    cluster.real = { ...cluster.real, ...standing }
    const metrics = createMetrics(new Registry())
    await debrisIn(cluster, record, 0, undefined, metrics).remove('nublado-ada')
    const { values } = await metrics.debrisRemoved.get()
    return values.map(({ labels, value }) => `${labels.kind} ${value}`)
  }

  it('counts each removed object by kind', async () => {
    expect(await countedOf({ namespaceUid: 'another' }, {})).toEqual(['namespace 1'])
    expect(await countedOf({ podUid: 'another' }, {})).toEqual(['pod 1'])
  })

  it('does not count an object that was gone or replaced', async () => {
    expect(await countedOf({ namespaceUid: 'another' }, { namespace: undefined })).toEqual([])
    expect(await countedOf({ podUid: 'another' }, { pod: podObject({ uid: 'other' }) })).toEqual([])
  })
})

describe('Debris.restore', () => {
  /** The requests to a cluster that has the pod of operation 7 and no namespace. */
  async function restoreIn(record: Partial<LabRecord> | null, tombstone: number, pod = {}, namespace?: object) {
    const cluster = new FakeCluster()
    cluster.real = { pod: podObject(pod), ...(namespace && { namespace: namespaceObject(namespace) }) }
    cluster.show()
    await debrisIn(cluster, record, tombstone).restore('nublado-ada')
    return cluster.requests
  }

  it('creates a deleted namespace again when a pod of an ended operation is in it', async () => {
    const restored = ['get Namespace', 'create Namespace']
    expect(await restoreIn(null, 7)).toEqual(restored)
    expect(await restoreIn({ op: 9, status: 'failed' }, 0)).toEqual(restored)
  })

  it('does nothing when the namespace exists, an operation runs, or the pod is newer, foreign or terminating', async () => {
    expect(await restoreIn(null, 7, {}, {})).toEqual(['get Namespace'])
    expect(await restoreIn({ op: 9, active: true }, 0)).toEqual([])
    expect(await restoreIn(null, 6)).toEqual([])
    expect(await restoreIn(null, 7, { foreign: true })).toEqual([])
    expect(await restoreIn(null, 7, { terminating: true })).toEqual([])
  })
})
