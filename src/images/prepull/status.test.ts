import { expect, test } from 'vitest'
import { catalogueOf, digestOf, image, node, noRecords, repository } from '../../../test/kit/images/cluster.ts'
import { configSchema } from '../../config/schema.ts'
import { imageKey, type PrepullWorld } from './decide.ts'
import { pullSetName } from './pull-set.ts'
import { prepullStatus } from './status.ts'

const { lab } = configSchema.parse({})
const rules = { installation: 'north', placement: lab, repository }
const [first, second, untold] = [image('w_1', 'a'), image('d_1', 'b'), image('exp', null)]
const listed = (letter: string, ...tags: string[]) => [
  `${repository}@${digestOf(letter)}`,
  ...tags.map(tag => `${repository}:${tag}`),
]
const statusOf = (world: Partial<PrepullWorld>, catalogue = catalogueOf(first, second)) =>
  prepullStatus(catalogue, { nodes: [], pods: [], records: noRecords, ...world }, rules)

test('the status lists an image as prepulled when each eligible node has it, and as pending before', () => {
  const nodes = [
    node('two', { images: [listed('a', 'w_1')] }),
    node('one', { images: [listed('a'), listed('b')] }),
    node('far', { ready: false }),
    node('old', { cordoned: true, images: [listed('a')] }),
  ]
  const sized = (what: typeof first) => ({ ...what, sizeBytes: 1000 })
  expect(statusOf({ nodes })).toEqual({
    prepulled: [{ image: sized(first), nodes: ['old', 'one', 'two'], missing: [] }],
    pending: [{ image: sized(second), nodes: ['one'], missing: ['two'] }],
    nodes: [
      { name: 'far', eligible: false, comment: 'It is not ready', cached: [] },
      { name: 'old', eligible: false, comment: 'It is cordoned', cached: [first.reference] },
      { name: 'one', eligible: true, cached: [second.reference, first.reference] },
      { name: 'two', eligible: true, cached: [first.reference] },
    ],
  })
})

test('the status counts a completed pull even if the node does not list the image', () => {
  const records = { ...noRecords, prepulled: new Map([[imageKey(first), new Map([['uid-one', true]])]]) }
  const status = statusOf({ nodes: [node('one')], records }, catalogueOf(first))
  expect(status.prepulled).toEqual([{ image: first, nodes: ['one'], missing: [] }])
  expect(status.nodes[0]!.cached).toEqual([first.reference])
})

test('the status prefers the size from the registry', () => {
  const nodes = [node('one', { images: [listed('a')] })]
  const known = { ...first, sizeBytes: 77 }
  expect(statusOf({ nodes }, catalogueOf(known)).prepulled[0]!.image).toBe(known)
  expect(statusOf({ nodes: [node('one')] }, catalogueOf(first)).pending[0]!.image).toBe(first)
})

test('the status has the last failure while a node lacks the image', () => {
  const failure = { attempts: 2, nextMs: 0, error: 'one: it does not exist', nodes: ['uid-one'], set: '' }
  const records = { ...noRecords, failures: new Map([[imageKey(first), failure]]) }
  expect(statusOf({ nodes: [node('one')], records }).pending).toEqual([
    { image: first, nodes: [], missing: ['one'], error: 'one: it does not exist' },
    { image: second, nodes: [], missing: ['one'] },
  ])
  const healed = statusOf({ nodes: [node('one', { images: [listed('a')] })], records }, catalogueOf(first))
  expect(healed.prepulled).toHaveLength(1)
  expect(healed.prepulled[0]).not.toHaveProperty('error')
})

test('the status has a failure on some nodes while others go on', () => {
  const pod = { set: pullSetName('north', first), setUid: 'u', node: 'one', createdMs: 0, message: 'no such image' }
  const world = { nodes: [node('one'), node('two')], pods: [{ ...pod, state: 'failed' as const }] }
  expect(statusOf(world, catalogueOf(first)).pending[0]!.error).toBe('one: no such image')
})

test('the status names other images of a node by digest, or by tag without one', () => {
  const images = [
    listed('c', 'w_1'),
    [`${repository}:exp`],
    [`${repository}:unknown`],
    ['elsewhere/lab:x', `${repository}-more:x`],
    [],
  ]
  const catalogue = { ...catalogueOf(first), all: [first, untold] }
  expect(statusOf({ nodes: [node('one', { images })] }, catalogue).nodes[0]!.cached).toEqual([
    `${repository}:exp`,
    `${repository}:unknown`,
    `${repository}@${digestOf('c')}`,
  ])
})

test('the status computes other images only when nodes are requested', () => {
  let looks = 0
  const counted = {
    ...node('one', { images: [listed('a')] }),
    get images() {
      looks += 1
      return []
    },
  }
  const status = statusOf({ nodes: [counted] }, catalogueOf(first))
  expect([status.prepulled.length, status.pending.length, looks]).toEqual([1, 0, 0])
  expect([status.nodes.length, looks]).toEqual([1, 1])
})

test('the status has no missing images without eligible nodes', () => {
  expect(statusOf({}).pending).toEqual([])
  expect(statusOf({}).prepulled).toHaveLength(2)
})
