/** Prepulling under random events: decisions are carried out on a cluster that changes at will. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { containers, FakeCluster, image, noRecords, rules } from '../../../test/kit/images/cluster.ts'
import { configSchema } from '../../config/schema.ts'
import type { PrepullRecords } from '../../store/prepulls.ts'
import { decidePrepull, standings } from './decide.ts'
import { renderPullNodes, renderPullSet } from './pull-set.ts'

const config = configSchema.parse({ installation: 'north' })
const nowMs = 1_000_000

/** Events of a cluster between two decisions; numbers choose the node, image or pod. */
const befalls = {
  join: (cluster: FakeCluster, n: number) => cluster.setNode(`node-${n % 6}`),
  rejoin: (cluster: FakeCluster, n: number) => cluster.setNode(`node-${n % 6}`, { uid: `uid-${n}` }),
  leave: (cluster: FakeCluster, n: number) => cluster.removeNode(`node-${n % 6}`),
  cordon: (cluster: FakeCluster, n: number) => cluster.setNode(`node-${n % 6}`, { cordoned: true }),
  silence: (cluster: FakeCluster, n: number) => cluster.setNode(`node-${n % 6}`, { ready: false }),
  deleteSet: (cluster: FakeCluster, n: number) => {
    const names = [...cluster.setsByName.keys()]
    if (names.length > 0) cluster.removeSet(names[n % names.length]!)
  },
  pull: (cluster: FakeCluster, n: number) => tellOfPod(cluster, n, containers.running),
  fail: (cluster: FakeCluster, n: number) => tellOfPod(cluster, n, containers.failing('no')),
  /** Redis loses its data. */
  forget: () => {},
  /** The deciding replica is killed before it acts. */
  die: () => {},
  wait: () => {},
} satisfies Record<string, (cluster: FakeCluster, n: number) => void>

function tellOfPod(cluster: FakeCluster, n: number, container: object): void {
  const pods = cluster.pods()
  const pod = pods[n % Math.max(1, pods.length)]
  const set = cluster.sets().find(({ name }) => name === pod?.set)
  if (pod && set) cluster.setPod(set.image, pod.node, container)
}

const images = [image('a', 'a'), image('b', 'b'), image('c', 'c'), image('d', null)]
const event = fc.tuple(fc.constantFrom(...(Object.keys(befalls) as (keyof typeof befalls)[])), fc.nat(1000))

interface Told {
  records: PrepullRecords
  nowMs: number
}

/** Decides once and acts; `dies`: only writes the records. */
async function look(cluster: FakeCluster, world: Told, dies = false): Promise<void> {
  const seen = { nodes: cluster.nodes(), sets: cluster.sets(), pods: cluster.pods(), ...world }
  const decision = decidePrepull(images, seen, rules)
  const open = new Set(seen.nodes.filter(each => each.ready && !each.unschedulable).map(({ name }) => name))
  for (const { nodes } of [...decision.create, ...decision.extend]) {
    expect(nodes.length).toBeGreaterThan(0)
    expect(nodes.filter(name => !open.has(name))).toEqual([])
  }
  world.records = decision.records
  if (dies) return
  const ref = { apiVersion: 'apps/v1', kind: 'DaemonSet' }
  for (const { set } of decision.remove) await cluster.delete({ ...ref, ...set })
  for (const { set, nodes } of decision.extend) await cluster.patch({ ...ref, ...set }, renderPullNodes(nodes))
  for (const { image, nodes } of decision.create) {
    await cluster.create(renderPullSet({ config, namespace: 'sky', image, nodes, begunMs: world.nowMs }))
  }
  expect(cluster.setsByName.size).toBeLessThanOrEqual(rules.maxAtOnce)
}

test('decidePrepull touches only eligible nodes, bounds concurrent pulls, and in the end all nodes have all images', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async events => {
      const cluster = new FakeCluster()
      const world = { records: noRecords, nowMs }
      for (const [name, n] of events) {
        befalls[name](cluster, n)
        if (name === 'forget') world.records = noRecords
        world.nowMs += n * 10
        await look(cluster, world, name === 'die')
      }
      // No further events: each pull succeeds.
      for (let round = 0; round < 12; round += 1) {
        cluster.pullAll()
        world.nowMs += rules.maxRetryMs
        await look(cluster, world)
      }
      const seen = { nodes: cluster.nodes(), pods: cluster.pods(), records: world.records }
      expect(standings(images, seen, rules).flatMap(({ missing }) => missing)).toEqual([])
      expect(cluster.setsByName.size).toBe(0)
    }),
    { numRuns: 200 },
  )
})
