import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../base/domain.ts'
import { stamps } from '../../kube/labels.ts'
import type { NotebookWorkloadKind } from './sight.ts'
import { labelledSet, notebook, ownedBy, podOf, setOf } from './testing/objects.ts'
import { both, id, ownerWorld as world } from './testing/owner-world.ts'

const { signal } = new AbortController()
const service = (spec: object): KubeObject => ({
  ...{
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'blue', namespace: 'team', uid: 's', resourceVersion: '1' },
  },
  spec,
})

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

  it.each<[string, 'notebooks' | 'statefulSets', KubeObject]>([
    ['it is being deleted', 'notebooks', notebook({ resourceVersion: '2', deletionTimestamp: 'now' }, both)],
    ['its set is being deleted', 'statefulSets', setOf({ resourceVersion: '2', deletionTimestamp: 'now' })],
  ])('shows none, and removes nothing, while %s', (_, watch, object) => {
    const { owner, watches } = world()
    watches[watch].show(object)
    expect(owner.facts(id)).toBeUndefined()
    if (watch === 'notebooks') expect([owner.isEnding(id), owner.leftovers(id)]).toEqual([true, undefined])
  })

  it('goes by the reference of the controller, whichever others stand before it', () => {
    const { owner, watches } = world()
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }
    const ownerReferences = [other, ...ownedBy({ apiVersion: 'kubeflow.org/v1', kind: 'Notebook' }, 'blue', 'nb')]
    watches.statefulSets.show(setOf({ resourceVersion: '2', ownerReferences }))
    expect(owner.facts(id)?.podUid).toBe('pod')
    watches.statefulSets.show(
      setOf({ resourceVersion: '3', ownerReferences: ownerReferences.map(each => ({ ...each, controller: false })) }),
    )
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
  it('reads the tenant of the namespace where tenants are watched', async () => {
    const namespaces = new Map([['team', true]])
    expect((await world({ tenants: namespaces }).known()).traits).toMatchObject({ namespace: 'team', tenant: 'team' })
    namespaces.delete('team')
    expect((await world({ tenants: namespaces }).known()).traits.tenant).toBeUndefined()
  })

  it('reads what rules match by, and where its own container is asked, without a credential', async () => {
    const known = await world().known()
    expect(known.traits).toEqual({ image: 'jupyter:1', namespace: 'team', tenant: undefined })
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
