import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../base/domain.ts'
import { KubeError } from '../../kube/client.ts'
import { stamps } from '../../kube/labels.ts'
import type { StopRefusal, StopRequest } from '../../store/idle.ts'
import type { WorkloadFacts } from '../workload.ts'
import { NotebookOwner } from './owner.ts'
import { NotebookSight, type NotebookWorkloadKind } from './sight.ts'
import { filledWatches, labelledSet, notebook, ownedBy, podOf, setOf } from './testing/objects.ts'

const { signal } = new AbortController()
const id = 'team/blue'
const expectedMs = Date.parse('2026-01-01T12:00:00Z')
const request = { kind: 'notebook', id, expectedMs } as StopRequest
const both = { [stamps.lastActivity]: 'a', [stamps.checked]: 'b' }
const service = (spec: object): KubeObject => ({
  ...{
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'blue', namespace: 'team', uid: 's', resourceVersion: '1' },
  },
  spec,
})

interface Parts {
  readonly kind?: NotebookWorkloadKind
  readonly answer?: 'requested' | StopRefusal
  readonly patch?: () => KubeObject | null
  readonly stampPolicy?: 'always' | 'off'
}

function world({ kind = 'notebook', answer = 'requested', patch, stampPolicy = 'always' }: Parts = {}) {
  const watches = filledWatches()
  const calls: unknown[] = []
  const stopped: unknown[] = []
  const read = { activity: undefined, floorMs: 0, nowMs: 1, touches: 0, trafficIsUntold: false }
  const owner = new NotebookOwner({
    ...{ kind, stampPolicy, sight: new NotebookSight(watches) },
    store: { read: async () => read, requestStop: async () => answer },
    kube: {
      patch: async ({ kind: of, name, uid }, { metadata }, { resourceVersion } = {}) => {
        calls.push([of, name, uid, resourceVersion, metadata?.annotations])
        return patch ? patch() : notebook()
      },
    },
    isInCluster: ip => ip.startsWith('10.'),
    failpoint: async point => void calls.push(point),
    onStopped: ({ name }, atMs) => void stopped.push([name, atMs]),
  })
  if (kind === 'notebook') watches.notebooks.show(notebook({}, both))
  watches.statefulSets.show(kind === 'notebook' ? setOf() : labelledSet({ annotations: both }))
  watches.pods.show(podOf())
  const known = async () => (await owner.read(owner.facts(id) as WorkloadFacts))!
  return { watches, owner, calls, stopped, known }
}

describe('NotebookOwner.facts', () => {
  it.each<NotebookWorkloadKind>(['notebook', 'statefulset'])('shows a %s with its pod and its annotations', kind => {
    expect(world({ kind }).owner.facts(id)).toEqual({
      ...{ kind, id, podUid: 'pod', mayBeAsked: true, startedMs: Date.parse('2026-01-01T00:00:00Z') },
      stamps: { lastActivity: 'a', checked: 'b', keepUntil: undefined, stopped: undefined },
    })
  })

  it.each<[string, KubeObject]>([
    ['is not Ready', podOf({ resourceVersion: '2' }, {}, { conditions: [] })],
    ['has the address of its node', podOf({ resourceVersion: '2' }, { hostNetwork: true })],
    ['has a name in place of an address', podOf({ resourceVersion: '2' }, {}, { podIP: 'example.org' })],
  ])('lets nobody ask a pod that %s', (_, pod) => {
    const { owner, watches } = world()
    watches.pods.show(pod)
    expect(owner.facts(id)?.mayBeAsked).toBe(false)
  })

  it.each<[string, KubeObject]>([
    ['has not begun', podOf({ resourceVersion: '2' }, {}, { phase: 'Pending' })],
    ['is being deleted', podOf({ resourceVersion: '2', deletionTimestamp: 'now' })],
    ['is that of another set', podOf({ resourceVersion: '2', ownerReferences: ownedBy(podOf(), 'blue', 'set') })],
    [
      'names another set of this name',
      podOf({ resourceVersion: '2', ownerReferences: ownedBy(setOf(), 'blue', 'older') }),
    ],
    ['has no controller any more', podOf({ resourceVersion: '2', ownerReferences: [] })],
  ])('shows none whose pod %s', (_, pod) => {
    const { owner, watches } = world()
    watches.pods.show(pod)
    expect(owner.facts(id)).toBeUndefined()
  })

  it.each<[string, KubeObject]>([
    [
      'belongs to a former notebook of this name',
      setOf({ resourceVersion: '2', ownerReferences: ownedBy(notebook(), 'blue', 'x') }),
    ],
    ['only has the name', setOf({ resourceVersion: '2', ownerReferences: [] })],
    [
      'is owned by something else',
      setOf({
        resourceVersion: '2',
        ownerReferences: ownedBy({ apiVersion: 'example.org/v1', kind: 'Notebook' }, 'blue', 'nb'),
      }),
    ],
  ])('shows none whose set %s', (_, set) => {
    const { owner, watches } = world()
    watches.statefulSets.show(set)
    expect(owner.facts(id)).toBeUndefined()
  })

  it('shows none that is stopped, and says that it ends while its pod is there', () => {
    const { owner, watches } = world()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, { [stamps.stopped]: 'whatever' }))
    expect([owner.facts(id), owner.isEnding(id)]).toEqual([undefined, true])
    watches.pods.drop(podOf({ resourceVersion: '3' }))
    expect(owner.isEnding(id)).toBe(false)
  })

  it('finds the set of a notebook with a long name, whose set has another one', () => {
    const { owner, watches } = world()
    watches.statefulSets.drop(setOf({ resourceVersion: '2' }))
    watches.statefulSets.show(setOf({ name: 'nb-x7', uid: 'short' }))
    const ownerReferences = ownedBy(setOf(), 'nb-x7', 'short')
    watches.pods.show(podOf({ name: 'nb-x7-0', uid: 'its', ownerReferences }))
    expect(owner.facts(id)?.podUid).toBe('its')
  })

  it('shows no set without the label, and none of a notebook that bears it', () => {
    const { owner, watches } = world({ kind: 'statefulset' })
    watches.statefulSets.show(labelledSet({ resourceVersion: '2', labels: {} }))
    expect([owner.facts(id), [...owner.ids()]]).toEqual([undefined, []])
    watches.statefulSets.show(setOf({ resourceVersion: '3', labels: { 'user.skylab/idle': 'true' } }))
    expect([owner.facts(id), [...owner.ids()]]).toEqual([undefined, []])
  })
})

describe('NotebookOwner.read', () => {
  it('reads what rules match by, and where its own container is asked, without a credential', async () => {
    const known = await world().known()
    expect(known.traits).toEqual({ image: 'jupyter:1', namespace: 'team' })
    expect(await known.target(signal, 'pod')).toEqual({
      ...{ address: '10.0.0.7', port: 9999, prefix: '/notebook/team/blue/', credential: undefined },
    })
  })

  it('asks at the port of Jupyter when its container names none', async () => {
    const { watches, known } = world()
    watches.pods.show(podOf({ resourceVersion: '2' }, { containers: [{ name: 'blue', image: 'x' }] }))
    expect((await (await known()).target(signal)).port).toBe(8888)
  })

  it.each<[string, object | undefined, string, number]>([
    ['its Service', { clusterIP: '10.96.0.4', ports: [{ port: 80 }] }, '10.96.0.4', 80],
    ['no Service beyond the ranges of the cluster', { clusterIP: '203.0.113.1', ports: [{ port: 80 }] }, '', 80],
    ['no ExternalName', { type: 'ExternalName', clusterIP: '10.96.0.4', externalName: 'x' }, '', 8888],
    ['no headless Service', { clusterIP: 'None' }, '', 8888],
    ['no Service that is missing', undefined, '', 8888],
  ])('asks %s when its rule says so', async (_, spec, address, port) => {
    const { watches, known } = world()
    if (spec) watches.services.show(service(spec))
    expect(await (await known()).target(signal, 'service')).toMatchObject({ address, port })
  })

  it('knows nothing of a pod that is not the present one', async () => {
    const { owner } = world()
    expect(await owner.read({ ...owner.facts(id)!, podUid: 'former' })).toBeUndefined()
  })
})

describe('NotebookOwner.stop', () => {
  it('writes the annotation by UID and by the version from before the look, and removes the others', async () => {
    const { known, calls, stopped, watches } = world()
    const before = await known()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, both))
    expect(await before.stop(request, signal)).toBe('requested')
    const annotations = {
      ...{ [stamps.stopped]: '2026-01-01T12:00:00Z', [stamps.lastActivity]: null, [stamps.checked]: null },
    }
    expect(calls).toEqual(['idle.requested', ['Notebook', 'blue', 'nb', '1', annotations]])
    expect(stopped).toEqual([['blue', expectedMs]])
  })

  it.each<StopRefusal>(['changed', 'held', 'clock'])('writes nothing when the script says %s', async answer => {
    const { known, calls } = world({ answer })
    expect(await (await known()).stop(request, signal)).toBe(answer)
    expect(calls).toEqual([])
  })

  const fails = (status: number) => () => {
    throw new KubeError(status, '', '')
  }

  it('lets an edit since then win', async () => {
    const { known, stopped } = world({ patch: fails(409) })
    expect(await (await known()).stop(request, signal)).toBe('changed')
    expect(stopped).toEqual([])
  })

  it('takes the conflict for its own change when it is stopped', async () => {
    const { known, watches } = world({ patch: fails(409) })
    const before = await known()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, { [stamps.stopped]: 'x' }))
    expect(await before.stop(request, signal)).toBe('requested')
  })

  it('has changed when the notebook is gone, and fails when a policy refuses', async () => {
    expect(await (await world({ patch: () => null }).known()).stop(request, signal)).toBe('changed')
    await expect((await world({ patch: fails(422) }).known()).stop(request, signal)).rejects.toThrow(KubeError)
  })
})

describe('NotebookOwner.stamp', () => {
  it('writes to the owner of the pod that was looked at, and to none with another pod', async () => {
    const { owner, calls } = world({ kind: 'statefulset' })
    const facts = owner.facts(id)!
    await owner.stamp(facts, { a: '1' }, signal)
    await owner.stamp({ ...facts, podUid: 'former' }, { a: '2' }, signal)
    expect(calls).toEqual([['StatefulSet', 'blue', 'set', undefined, { a: '1' }]])
  })

  it('removes both times where nothing runs, and nowhere else', async () => {
    const { owner, calls, watches } = world()
    expect(owner.leftovers(id)).toBeUndefined()
    await owner.tidy(id, signal)
    watches.pods.drop(podOf({ resourceVersion: '2' }))
    const removed = { [stamps.lastActivity]: null, [stamps.checked]: null }
    expect(owner.leftovers(id)).toEqual(removed)
    await owner.tidy(id, signal)
    expect(calls).toEqual([['Notebook', 'blue', 'nb', undefined, removed]])
    expect(world({ stampPolicy: 'off' }).owner.leftovers(id)).toBeUndefined()
  })
})
