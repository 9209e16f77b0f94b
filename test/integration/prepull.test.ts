/** Prepulling on a real API server with its controllers; the test or KWOK plays the kubelets. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Redis } from '../../dev/redis/redis.ts'
import { projectPullSet, pullSetName } from '../../src/images/prepull/pull-set.ts'
import { eventually } from '../kit/cluster/world.ts'
import { digestOf, image, repository } from '../kit/images/cluster.ts'
import { type PrepullReplica, PrepullSite } from '../kit/prepull/prepull.ts'
import { ownRedis } from '../kit/store/store.ts'

const weekly = image('w_2026_01')
const daily = image('d_2026_01_01', 'b')

let redis: Redis
beforeAll(async () => {
  redis = await ownRedis()
})
afterAll(() => redis?.stop())

/** An installation with some nodes that prepulls the weekly. */
async function siteWith(nodes: readonly string[], prepull: object = {}): Promise<PrepullSite> {
  const site = new PrepullSite(redis, prepull)
  onTestFinished(() => site.close())
  await Promise.all(nodes.map(node => site.addNode(node)))
  site.wants(weekly)
  return site
}

/** Waits until a replica reports this; else fails with its last report. */
async function until(replica: PrepullReplica, prepulled: readonly string[], pending: Record<string, string[]> = {}) {
  const due = JSON.stringify({ prepulled, pending })
  let reported = ''
  const isReported = async () => {
    reported = JSON.stringify(await replica.summary())
    return reported === due
  }
  await eventually(`the report ${due}`, isReported, 90_000).catch(async error => {
    const errors = (await replica.status()).pending.map(state => state.error)
    throw new Error(`${error.message}, but ${reported} ${JSON.stringify(errors)}`)
  })
}
const untilSets = (site: PrepullSite, count: number) =>
  eventually(`there are ${count} DaemonSets`, async () => (await site.sets()).length === count)
const onlySet = (site: PrepullSite) => eventually('there is a DaemonSet', async () => (await site.sets())[0])

test('prepulling pulls missing images on nodes for labs, and nowhere else', async () => {
  const site = await siteWith(['a', 'b'])
  await Promise.all([
    site.addNode('has', { images: [[`${repository}@${digestOf('a')}`]] }),
    site.addNode('cordoned', { cordoned: true }),
    site.addNode('tainted', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
    site.addNode('other', { labels: {} }),
  ])
  const replica = await site.replica()
  await until(replica, [], { w_2026_01: ['a', 'b'] })
  await Promise.all([site.pulls('w_2026_01', 'a'), site.pulls('w_2026_01', 'b')])
  await until(replica, ['w_2026_01'])
  await untilSets(site, 0)
  await eventually('the pods are gone', async () => (await site.pods()).length === 0)
  const { prepulled, nodes } = await replica.status()
  expect(prepulled[0]!.nodes).toEqual(['a', 'b', 'has'].map(node => site.name(node)))
  const ours = new Map(nodes.map(({ name, ...state }) => [name, state]))
  expect(ours.get(site.name('a'))).toEqual({ eligible: true, cached: [weekly.reference] })
  expect(ours.get(site.name('has'))).toEqual({ eligible: true, cached: [weekly.reference] })
  expect(ours.get(site.name('cordoned'))).toMatchObject({ eligible: false, comment: 'It is cordoned' })
  expect(ours.get(site.name('tainted'))!.comment).toBe('Labs do not tolerate its taint gpu:NoSchedule')
  expect(ours.get(site.name('other'))!.comment).toContain('it lacks the label skylab-test/prepull=')
})

test('prepulling makes the DaemonSet as specified', async () => {
  const site = await siteWith(['a'])
  await site.replica()
  const set = await onlySet(site)
  expect(set.metadata.name).toBe(pullSetName(site.installation, weekly))
  expect(set.metadata.labels).toMatchObject({ 'argocd.argoproj.io/instance': 'nublado-users' })
  expect(set.metadata.annotations).toMatchObject({ 'argocd.argoproj.io/sync-options': 'Prune=false' })
  const [pod] = await eventually('there is its pod', async () => ((await site.pods()).length > 0 ? site.pods() : null))
  expect(pod!.metadata.labels).not.toHaveProperty(['skylab/installation'])
  expect(pod!.spec).toMatchObject({
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [
      { image: `${weekly.reference}@${weekly.digest}`, resources: { limits: { cpu: '100m', memory: '32Mi' } } },
    ],
  })
})

test('prepulling serves a new node at once, and forgets a removed one', async () => {
  const site = await siteWith(['a', 'b'])
  const replica = await site.replica()
  const { metadata } = await onlySet(site)
  await site.addNode('c')
  await site.pulls('w_2026_01', 'c')
  expect((await onlySet(site)).metadata.uid).toBe(metadata.uid)
  await site.pulls('w_2026_01', 'a')
  await until(replica, [], { w_2026_01: ['b'] })
  await site.removeNode('b')
  await until(replica, ['w_2026_01'])
  await untilSets(site, 0)
  await site.addNode('d')
  await until(replica, [], { w_2026_01: ['d'] })
  await site.pulls('w_2026_01', 'd')
  await until(replica, ['w_2026_01'])
})

test('prepulling makes a deleted DaemonSet again', async () => {
  const site = await siteWith(['a'])
  const replica = await site.replica()
  const first = await onlySet(site)
  // A set whose first pod Kubernetes has not seen yet holds up its namesake for minutes: it still waits for that pod.
  await eventually('its pod', async () => (await site.pods()).length > 0)
  await site.removeSet(first)
  await eventually('another one', async () => (await onlySet(site)).metadata.uid !== first.metadata.uid)
  await site.pulls('w_2026_01', 'a')
  await until(replica, ['w_2026_01'])
})

test('prepulling reports a failed pull with its reason, and repeats it after growing pauses', async () => {
  const site = await siteWith(['a', 'b'], { retrySeconds: 1 })
  const replica = await site.replica()
  await site.pulls('w_2026_01', 'b')
  const uids = new Set<string>()
  const begun: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const { metadata } = await eventually('a new attempt', async () =>
      (await site.sets()).find(set => !uids.has(set.metadata.uid!)),
    )
    uids.add(metadata.uid!)
    begun.push(Number(metadata.annotations!['skylab/prepull-begun']))
    await site.fails('w_2026_01', 'a', 'failed to resolve reference "x": x: not found')
    await eventually('the failed attempt is over', async () =>
      (await site.sets()).every(set => set.metadata.uid !== metadata.uid),
    )
  }
  expect(begun[1]! - begun[0]!).toBeGreaterThanOrEqual(1000)
  expect(begun[2]! - begun[1]!).toBeGreaterThanOrEqual(2000)
  const { pending } = await replica.status()
  expect(pending[0]).toMatchObject({
    nodes: [site.name('b')],
    missing: [site.name('a')],
    error: expect.stringMatching(/-a: The image cannot be pulled: it does not exist \(.*not found\)$/),
  })
  // However the image came to be there, nothing more is reported.
  await site.listImages('a', [[`${repository}@${digestOf('a')}`]])
  await until(replica, ['w_2026_01'])
  expect((await replica.status()).prepulled[0]).not.toHaveProperty('error')
})

test('prepulling counts an eviction for lack of disk as a failure', async () => {
  const site = await siteWith(['a'], { retrySeconds: 600 })
  const replica = await site.replica()
  const evicted = { phase: 'Failed', reason: 'Evicted', message: 'low on ephemeral-storage' }
  await onlySet(site)
  // The DaemonSet's controller makes another pod at once, with the same result.
  await eventually('it is given up', async () => {
    await site.reportNow('w_2026_01', 'a', {}, evicted).catch(() => {})
    return (await site.sets()).length === 0
  })
  const { pending } = await replica.status()
  expect(pending[0]!.error).toContain('Evicted: low on ephemeral-storage')
})

test('prepulling leaves a node with a full disk alone, and serves it when it has space again', async () => {
  const site = await siteWith(['a', 'b'])
  const replica = await site.replica()
  await site.pulls('w_2026_01', 'b')
  await until(replica, [], { w_2026_01: ['a'] })
  await site.reportDisk('a', { full: true })
  await until(replica, ['w_2026_01'])
  await untilSets(site, 0)
  const full = (await replica.status()).nodes.find(({ name }) => name === site.name('a'))
  const comment = 'Labs do not tolerate its taint node.kubernetes.io/disk-pressure:NoSchedule'
  expect(full).toEqual({ name: site.name('a'), eligible: false, comment, cached: [] })
  await site.reportDisk('a', { full: false })
  await site.pulls('w_2026_01', 'a')
  await until(replica, ['w_2026_01'])
  expect((await replica.status()).prepulled[0]!.nodes).toEqual(['a', 'b'].map(node => site.name(node)))
})

test('prepulling ends a pull that takes too long', async () => {
  const site = await siteWith(['a'], { timeoutSeconds: 1, retrySeconds: 600 })
  const replica = await site.replica()
  await eventually('the error', async () => (await replica.status()).pending[0]?.error?.includes('within 1 s'))
  await untilSets(site, 0)
})

test('prepulling continues with the same DaemonSet on another replica when the active one is killed', async () => {
  const site = await siteWith(['a', 'b'])
  const first = await site.replica()
  const { metadata } = await onlySet(site)
  const second = await site.replica()
  await site.pulls('w_2026_01', 'a')
  await until(second, [], { w_2026_01: ['b'] })
  await first.kill()
  await site.pulls('w_2026_01', 'b')
  await until(second, ['w_2026_01'])
  await untilSets(site, 0)
  expect(metadata.name).toBe(pullSetName(site.installation, weekly))
  await site.addNode('c')
  await site.pulls('w_2026_01', 'c')
  await until(second, ['w_2026_01'])
})

test('prepulling makes one DaemonSet when two replicas do not know of each other', async () => {
  const site = await siteWith(['a', 'b'])
  const [first, second] = await site.replicasApart()
  const { metadata } = await onlySet(site)
  await site.addNode('c')
  const whole = async () => (await site.sets()).find(set => projectPullSet(set).nodes.length === 3)
  expect((await eventually('it is for all three', whole)).metadata.uid).toBe(metadata.uid)
  for (const node of ['a', 'b', 'c']) await site.listImages(node, [[`${repository}@${digestOf('a')}`]])
  await Promise.all([until(first, ['w_2026_01']), until(second, ['w_2026_01'])])
  await untilSets(site, 0)
})

test('prepulling pulls a moved tag again, and its former image no longer', async () => {
  const site = await siteWith(['a'])
  const replica = await site.replica()
  await site.pulls('w_2026_01', 'a')
  await until(replica, ['w_2026_01'])
  const moved = image('w_2026_01', 'c')
  site.wants(moved, daily)
  await until(replica, [], { w_2026_01: ['a'], d_2026_01_01: ['a'] })
  await untilSets(site, 2)
  site.wants(moved)
  await untilSets(site, 1)
  await site.pulls('w_2026_01', 'a')
  await until(replica, ['w_2026_01'])
})

test('prepulling serves 50 nodes of KWOK, half of them eligible, with two images at a time', async () => {
  const site = await siteWith([], { maxAtOnce: 2 })
  const names = Array.from({ length: 50 }, (_, index) => `k${String(index).padStart(2, '0')}`)
  const eligible = names.filter((_, index) => index % 2 === 0)
  await Promise.all(names.map((name, i) => site.addNode(name, { kwok: true, cordoned: i % 2 === 1 })))
  const images = [weekly, daily, image('d_2026_01_02', 'c')]
  site.wants(...images)
  const replica = await site.replica()
  const isReady = async () => (await replica.status()).nodes.filter(node => node.eligible).length === eligible.length
  await eventually('the nodes are ready', isReady, 90_000)
  const isDone = async () => {
    // Under load KWOK leaves pods on its new nodes unchanged for minutes.
    await site.pullAll()
    return (await replica.summary()).prepulled.length === images.length
  }
  await eventually('all images are on all nodes', isDone, 90_000)
  const { prepulled } = await replica.status()
  for (const { nodes } of prepulled) expect(nodes).toEqual(eligible.map(name => site.name(name)))
  await untilSets(site, 0)
}, 240_000)
