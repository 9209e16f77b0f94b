import { expect, it, vi } from 'vitest'
import { notebookKind, setKind } from './objects.ts'
import { NotebookSight } from './sight.ts'
import { filledWatches, labelledSet, notebook, ownedBy, podOf, setOf } from './testing/objects.ts'

function world() {
  const watches = filledWatches()
  const sight = new NotebookSight(watches)
  const told: string[] = []
  sight.on((kind, id) => void told.push(`${kind} ${id}`))
  return { watches, sight, told }
}

it('NotebookSight tells which notebook may have changed, by its set and its pod too', () => {
  const { watches, told } = world()
  watches.notebooks.show(notebook())
  watches.statefulSets.show(setOf({ name: 'nb-x7' }))
  watches.pods.show(podOf({ name: 'nb-x7-0' }))
  watches.pods.drop(podOf({ name: 'nb-x7-0', resourceVersion: '2' }))
  watches.statefulSets.drop(setOf({ name: 'nb-x7', resourceVersion: '2' }))
  watches.notebooks.drop(notebook({ resourceVersion: '2' }))
  expect(told).toEqual(Array.from({ length: 6 }, () => 'notebook team/blue'))
})

it('NotebookSight tells of a set that loses its label, and of one that changes hands', () => {
  const { watches, sight, told } = world()
  watches.statefulSets.show(labelledSet())
  expect([...sight.ids('statefulset')]).toEqual(['team/blue'])
  told.splice(0)
  watches.statefulSets.show(labelledSet({ resourceVersion: '2', labels: {} }))
  expect(told).toEqual(['statefulset team/blue'])
  expect([...sight.ids('statefulset')]).toEqual([])
  told.splice(0)
  watches.statefulSets.show(labelledSet({ resourceVersion: '3' }), setOf({ resourceVersion: '4' }))
  expect(told).toEqual(['statefulset team/blue', 'statefulset team/blue', 'notebook team/blue'])
})

const ofNotebook = (uid: string) => ownedBy({ apiVersion: 'kubeflow.org/v1', kind: 'Notebook' }, 'blue', uid)

it('NotebookSight finds the set of a notebook by its UID, whatever the name, and follows its change of hands', () => {
  const { watches, sight } = world()
  const setName = () => sight.get('notebook', 'team/blue')?.set?.name
  watches.notebooks.show(notebook())
  watches.statefulSets.show(setOf({ namespace: 'other', name: 'blue', uid: 'forged' }))
  expect(setName()).toBeUndefined()
  watches.statefulSets.show(setOf({ name: 'nb-x7' }), setOf({ name: 'nb-x8', ownerReferences: ofNotebook('x') }))
  expect(setName()).toBe('nb-x7')
  watches.statefulSets.show(setOf({ uid: 'later' }))
  expect(setName()).toBe('blue')
  watches.statefulSets.drop(setOf({ uid: 'later', resourceVersion: '2', ownerReferences: [] }))
  expect(setName()).toBe('nb-x7')
  watches.statefulSets.show(setOf({ name: 'nb-x7', resourceVersion: '2', ownerReferences: ofNotebook('x') }))
  expect(setName()).toBeUndefined()
  watches.statefulSets.show(setOf({ name: 'nb-x7', resourceVersion: '3', ownerReferences: ofNotebook('') }))
  watches.notebooks.show(notebook({ resourceVersion: '2', uid: '' }))
  expect(setName()).toBeUndefined()
})

it('NotebookSight looks at no set but that of a notebook, however many there are', () => {
  const { watches, sight } = world()
  for (let n = 0; n < 100; n++)
    watches.statefulSets.show(setOf({ name: `s${n}`, ownerReferences: ofNotebook(`x${n}`) }))
  watches.notebooks.show(notebook())
  const get = vi.spyOn(watches.statefulSets, 'get')
  const values = vi.spyOn(watches.statefulSets.cache, 'valuesOf')
  expect(sight.get('notebook', 'team/blue')).toMatchObject({ set: undefined })
  expect(get.mock.calls.length + values.mock.calls.length).toBe(0)
})

it('NotebookSight is silent about sets and pods of others', () => {
  const { watches, told } = world()
  watches.statefulSets.show(labelledSet({ labels: { app: 'x' } }))
  watches.pods.show(podOf(), podOf({ name: 'blue-1' }))
  expect(told).toEqual([])
  expect(watches.pods.get('team/blue-1')).toBeUndefined()
})

it('NotebookSight keeps a bounded part of what people write', () => {
  const { watches } = world()
  watches.notebooks.show(notebook({}, { 'kubeflow-resource-stopped': 'x'.repeat(100_000) }))
  watches.pods.show(podOf({}, { containers: Array.from({ length: 500 }, (_, at) => ({ name: `c${at}` })) }))
  // No part of it either: that would keep the whole in memory.
  expect(watches.notebooks.get('team/blue')!.stamps.stopped).toBe('too long')
  expect(watches.pods.get('team/blue-0')!.containers).toHaveLength(16)
  const long = 'x'.repeat(100_000)
  const ofLong = { resourceVersion: '2', ownerReferences: ownedBy(setKind, long, long) }
  watches.pods.show(podOf(ofLong, { containers: [{ name: 'blue', image: long }] }))
  expect(watches.pods.get('team/blue-0')).toMatchObject({ setUid: '', containers: [{ name: 'blue', image: '' }] })
  watches.statefulSets.show(setOf({ ownerReferences: ownedBy({ ...notebookKind }, long, long) }))
  expect(watches.statefulSets.get('team/blue')!.notebook).toEqual({ name: '', uid: '' })
})
