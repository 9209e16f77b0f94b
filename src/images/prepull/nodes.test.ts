import { expect, test } from 'vitest'
import { digestOf, nodeObject } from '../../../test/kit/images/cluster.ts'
import { plainName, projectNode } from './nodes.ts'

test('projectNode reads the facts of a node', () => {
  const names = [`docker.io/some/lab@${digestOf('a')}`, 'docker.io/some/lab:w_2026_01']
  const taints = [{ key: 'a', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' }]
  const shape = { labels: { type: 'x' }, taints, images: [names, []], createdAt: '1970-01-01T00:00:02Z' }
  const listed = { names: [`some/lab@${digestOf('a')}`, 'some/lab:w_2026_01'], sizeBytes: 1000 }
  expect(projectNode(nodeObject('one', shape))).toEqual({
    name: 'one',
    uid: 'uid-one',
    createdMs: 2000,
    labels: { type: 'x' },
    taints: [{ key: 'a', value: '', effect: 'NoSchedule' }],
    unschedulable: false,
    ready: true,
    deleting: false,
    images: [listed, { names: [], sizeBytes: 1000 }],
    imagesByName: new Map(listed.names.map(name => [name, listed])),
  })
})

test.each([
  ['without spec and status', { metadata: { name: 'new', uid: 'u' } }],
  ['with nonsense in them', { metadata: { name: 'new', uid: 'u' }, spec: { taints: 7 }, status: { images: [null] } }],
])('projectNode reads a node %s as not ready', (_, object) => {
  const facts = projectNode({ apiVersion: 'v1', kind: 'Node', ...object })
  expect(facts).toMatchObject({ name: 'new', ready: false, unschedulable: false, taints: [], labels: {} })
})

test('projectNode reads a node that is cordoned, unknown or being deleted', () => {
  expect(projectNode(nodeObject('one', { cordoned: true })).unschedulable).toBe(true)
  expect(projectNode(nodeObject('one', { ready: false })).ready).toBe(false)
  const object = nodeObject('one')
  const going = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  expect(projectNode(going).deleting).toBe(true)
})

test.each([
  ['docker.io/some/lab:x', 'some/lab:x'],
  ['index.docker.io/some/lab:x', 'some/lab:x'],
  ['docker.io/library/busybox:x', 'busybox:x'],
  ['docker.io.example.org/some/lab:x', 'docker.io.example.org/some/lab:x'],
  ['127.0.0.1:5000/some/lab:x', '127.0.0.1:5000/some/lab:x'],
])('%s is %s', (name, plain) => {
  expect(plainName(name)).toBe(plain)
})
