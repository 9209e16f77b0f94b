import { describe, expect, it } from 'vitest'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { removalSteps, requireNotNewer } from './removal.ts'
import { FakeCluster, fakeContext, namespaceObject, podObject, redisMs, sealer } from './testing/cluster.ts'
import { boundAt } from './trust.ts'

const upTo = removalSteps('', 'ownAndOlder', 0, 100)
const before = removalSteps('clear.', 'olderOps', 0, 4)
const [deletePod, awaitPod, deleteNamespace, awaitNamespace] = upTo as [Step, Step, Step, Step]
type Step = (typeof upTo)[number]

/** A cluster with these objects, which the watches show. */
function standing(namespace = {}, pod: object | null = {}) {
  const cluster = new FakeCluster()
  cluster.real = { namespace: namespaceObject(namespace), pod: pod ? podObject(pod) : undefined }
  cluster.show()
  return cluster
}

describe('removalSteps', () => {
  it('remove the own lab in two requests, each by UID', async () => {
    const cluster = standing()
    const { context } = fakeContext(cluster)
    await deletePod.run(context)
    await deleteNamespace.run(context)
    expect(cluster.requests).toEqual(['delete Pod uid-of-nb-ada', 'delete Namespace uid-of-nublado-ada'])
  })

  it('remove objects with a lower op', async () => {
    const cluster = standing({ op: 3 }, { op: 3 })
    for (const [pod, , namespace] of [upTo, before]) {
      cluster.requests.length = 0
      const { context } = fakeContext(cluster)
      await pod!.run(context)
      await namespace!.run(context)
      expect(cluster.requests).toEqual(['delete Pod uid-of-nb-ada', 'delete Namespace uid-of-nublado-ada'])
    }
  })

  it('leave the own namespace when making way, unless it is terminating', async () => {
    const cluster = standing()
    const { context } = fakeContext(cluster)
    for (const step of before) expect(await step.run(context)).toBe('nothing')
    expect(cluster.requests).toEqual([])
  })

  it('have nothing to wait for, and ask nothing, when no object was ordered to go', async () => {
    const cluster = standing({ foreign: true })
    const { context, known } = fakeContext(cluster)
    for (const [step, uid] of [
      [awaitPod, 'podUid'],
      [awaitNamespace, 'namespaceUid'],
    ] as const) {
      expect(step.isIdle!(known)).toBe(true)
      expect(await step.run(context)).toBe('nothing')
      expect(step.isIdle!({ ...known, [uid]: 'u' })).toBe(false)
    }
    expect(cluster.requests).toEqual([])
  })

  it('leave objects with a higher op, since Redis has lost writes', async () => {
    const cluster = standing({ op: 8 }, { op: 8 })
    for (const step of [upTo[0], upTo[2], before[0], before[2]]) {
      const { context, compares, known } = fakeContext(cluster)
      await expect(step!.run(context)).rejects.toBeInstanceOf(RetryLater)
      expect(compares.count).toBe(1)
      expect(known.doubt).toBe(true)
    }
    expect(cluster.requests).toEqual([])
  })

  it('leave a newer pod while the watches still show the former namespace', async () => {
    const cluster = standing({ op: 3, uid: 'n3' }, null)
    cluster.real = { namespace: namespaceObject({ op: 8, uid: 'n8' }), pod: podObject({ op: 8 }) }
    const { context, compares } = fakeContext(cluster)
    await expect(deletePod.run(context)).rejects.toBeInstanceOf(RetryLater)
    expect(compares.count).toBe(1)
    expect(cluster.requests).toEqual(['get Pod'])
  })

  it('leave a foreign namespace: a creation fails, a deletion has nothing to do', async () => {
    const cluster = standing({ foreign: true })
    const { context } = fakeContext(cluster)
    for (const step of [deletePod, deleteNamespace]) expect(await step.run(context)).toBe('nothing')
    for (const step of [before[0], before[2]]) {
      await expect(step!.run(context)).rejects.toThrow(/not made for ada .* left untouched/)
      await expect(step!.run(context)).rejects.toBeInstanceOf(NeedsSomeone)
    }
    expect(cluster.requests).toEqual([])
  })

  it.each([
    ['bears an op beyond the bound', { op: boundAt(redisMs) + 1 }, /namespace nublado-ada bears an operation number/],
    ['bears a record with a wrong MAC', { record: '{}', mac: sealer.mac(['another']) }, /did not write: it is left/],
  ])('is never a namespace that %s: a creation fails for it, a deletion has nothing to do', async (_, marks, words) => {
    const cluster = standing(marks)
    const { context, compares } = fakeContext(cluster)
    for (const step of [deletePod, deleteNamespace]) expect(await step.run(context)).toBe('nothing')
    for (const step of [before[0], before[2]]) await expect(step!.run(context)).rejects.toThrow(words)
    expect([cluster.requests, compares.count]).toEqual([[], 0])
  })

  it.each([
    ['written over', { op: boundAt(redisMs) + 1 }],
    ['taken away', { foreign: true }],
  ])('is not called gone where the record knows it by its UID, and its labels were %s', async (_, marks) => {
    const cluster = standing(marks)
    const known = { namespaceUid: 'uid-of-nublado-ada', podUid: undefined, doubt: false }
    const { context } = fakeContext(cluster, { known })
    for (const step of [deletePod, deleteNamespace])
      await expect(step.run(context)).rejects.toBeInstanceOf(NeedsSomeone)
  })

  it.each(['namespace', 'pod'] as const)('leave a %s beyond the bound, and name its kind in the reason', kind => {
    const { context } = fakeContext(new FakeCluster())
    const refuse = () => requireNotNewer(context, kind, { name: 'x', op: boundAt(redisMs) + 1 })
    expect(refuse).toThrow(new RegExp(`^The ${kind} x bears an operation number`))
  })

  it('leave a pod with an op beyond the bound', async () => {
    const cluster = standing({}, { op: boundAt(redisMs) + 1 })
    const { context, compares } = fakeContext(cluster)
    await expect(deletePod.run(context)).rejects.toThrow(/The pod nb-ada bears an operation number/)
    expect([cluster.requests, compares.count]).toEqual([[], 0])
  })

  it('do not delete a terminating namespace again', async () => {
    const cluster = standing({ terminating: true }, null)
    const { context, known } = fakeContext(cluster)
    await deleteNamespace.run(context)
    expect(cluster.requests).toEqual([])
    expect(known.namespaceUid).toBe('uid-of-nublado-ada')
  })

  it('ask the API server again when another object has the name', async () => {
    const cluster = standing()
    cluster.real = { namespace: namespaceObject({ uid: 'another' }), pod: podObject({ uid: 'another' }) }
    for (const step of [deletePod, deleteNamespace]) {
      const { context, known } = fakeContext(cluster)
      await expect(step.run(context)).rejects.toBeInstanceOf(RetryLater)
      expect(known.doubt).toBe(true)
    }
  })
})

describe('findNamespace and absence:', () => {
  it('only a creation believes the watches', async () => {
    const cluster = new FakeCluster()
    const { context } = fakeContext(cluster)
    expect(await before[2]!.run(context)).toBe('nothing')
    expect(cluster.requests).toEqual([])
    expect(await deleteNamespace.run(context)).toBe('nothing')
    expect(cluster.requests).toEqual(['get Namespace'])
  })

  it('nobody believes watches that lag behind the record', async () => {
    const cluster = standing({ uid: 'older', op: 3 }, null)
    cluster.real.namespace = namespaceObject()
    const { context, known } = fakeContext(cluster)
    known.namespaceUid = 'uid-of-nublado-ada'
    await deleteNamespace.run(context)
    expect(cluster.requests).toEqual(['get Namespace', 'delete Namespace uid-of-nublado-ada'])
  })

  it('a DELETED event is believed', async () => {
    const cluster = standing()
    const { context, known } = fakeContext(cluster, { gone: new Set(['uid-of-nublado-ada']) })
    known.namespaceUid = 'uid-of-nublado-ada'
    expect(await deleteNamespace.run(context)).toBe('nothing')
    expect(cluster.requests).toEqual([])
  })

  it('an operation in doubt asks the API server', async () => {
    const cluster = new FakeCluster()
    cluster.real.namespace = namespaceObject({ op: 3 })
    const { context, known } = fakeContext(cluster)
    known.doubt = true
    await before[2]!.run(context)
    expect(cluster.requests).toEqual(['get Namespace', 'delete Namespace uid-of-nublado-ada'])
  })
})

describe('removalSteps, while waiting until an object is gone,', () => {
  const settled = () => new Promise(resolve => setImmediate(resolve))

  it('wait for the DELETED event of this UID', async () => {
    const cluster = standing({ terminating: true }, { terminating: true })
    const gone = new Set<string>()
    const { context, known } = fakeContext(cluster, { gone })
    known.podUid = 'uid-of-nb-ada'
    let isOver = false
    const waiting = awaitPod.run(context).then(result => {
      isOver = true
      return result
    })
    gone.add('another')
    cluster.change({ namespace: context.names.namespace, goneUid: 'another' })
    await settled()
    expect(isOver).toBe(false)
    gone.add('uid-of-nb-ada')
    cluster.change({ namespace: context.names.namespace, goneUid: 'uid-of-nb-ada' })
    expect(await waiting).toMatchObject({ fields: { podPresent: false } })
    expect(cluster.requests).toEqual([])
    expect(cluster.listeners).toBe(0)
  })

  it('ask the API server when the watches show nothing, and again after a while', async () => {
    const cluster = standing({ terminating: true }, { terminating: true })
    const { context, known, clock } = fakeContext(cluster)
    known.podUid = 'uid-of-nb-ada'
    cluster.seen = { namespace: cluster.seen.namespace }
    const waiting = awaitPod.run(context)
    expect(await clock.sleepBetween(1, 10_000)).toBe(5000)
    expect(cluster.requests).toEqual(['get Pod'])
    cluster.real.pod = undefined
    clock.advance(5000)
    await waiting
    expect(cluster.requests).toEqual(['get Pod', 'get Pod'])
  })

  it('wait until the API server’s cache has dropped the namespace', async () => {
    const cluster = standing({ terminating: true }, null)
    const { context, known, clock } = fakeContext(cluster, { gone: new Set(['uid-of-nublado-ada']) })
    known.namespaceUid = 'uid-of-nublado-ada'
    known.doubt = true
    const waiting = awaitNamespace.run(context)
    expect(await clock.sleepBetween(1, 10_000)).toBe(500)
    clock.advance(500)
    expect(await waiting).toMatchObject({ fields: { namespaceUid: '', podUid: '' } })
    expect(known.namespaceUid).toBeUndefined()
  })

  it('do not wait for a creation’s own namespace when its steps begin anew, in doubt or not', async () => {
    for (const doubt of [false, true]) {
      const cluster = standing()
      const { context, known, clock } = fakeContext(cluster)
      Object.assign(known, { namespaceUid: 'uid-of-nublado-ada', podUid: 'uid-of-nb-ada', doubt })
      const waiting = before[3]!.run(context)
      expect(await clock.sleepBetween(1, 10_000)).toBe(500)
      clock.advance(500)
      expect(await waiting).toBe('nothing')
    }
  })

  it('report the cluster’s obstacles when it takes long', async () => {
    const cluster = standing({ terminating: true }, { terminating: true })
    cluster.real.pod = podObject({ terminating: true })
    const pod = { ...cluster.real.pod, metadata: { ...cluster.real.pod.metadata, finalizers: ['somebody/holds'] } }
    cluster.real.pod = pod
    cluster.show()
    const gone = new Set<string>()
    const { context, known, clock, reported } = fakeContext(cluster, { gone })
    known.podUid = 'uid-of-nb-ada'
    const waiting = awaitPod.run(context)
    await clock.sleepBetween(9_000, 10_000)
    expect(reported).toEqual([])
    clock.advance(10_000)
    await settled()
    expect(reported).toEqual([['error', 'The pod has the finalizer somebody/holds']])
    gone.add('uid-of-nb-ada')
    cluster.change({ namespace: context.names.namespace })
    await waiting
  })
})
