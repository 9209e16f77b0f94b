/** Prepulling by whole replicas: images of a registry get onto nodes, and all replicas report so. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { FakeRegistry } from '../kit/images/registry.ts'
import { PrepullSite } from '../kit/prepull/prepull.ts'

const registry = await FakeRegistry.start()
const site = new PrepullSite(null)
const digest = registry.push('w_2026_02', 1000)
registry.manifests.set('recommended', registry.manifests.get('w_2026_02')!)
registry.tags.push('recommended')

const { nodeSelector, tolerations } = site.config.lab
const images = {
  ...{ registry: registry.server.host, docker: { repository: registry.repository } },
  ...{ refreshIntervalSeconds: 3600, prepull: { enabled: true } },
}
const reference = `${registry.server.host}/${registry.repository}:recommended`

beforeAll(async () => {
  await Promise.all([site.addNode('a'), site.addNode('b'), site.addNode('c', { cordoned: true })])
})
const fleet = useFleet({ installation: site.installation, config: { images, lab: { nodeSelector, tolerations } } })
afterAll(async () => {
  await Promise.all([site.close(), registry.server.stop()])
})

interface Told {
  readonly images: {
    readonly prepulled: readonly { readonly reference: string; readonly nodes: readonly string[] }[]
    readonly pending: readonly {
      readonly reference: string
      readonly digest: string
      readonly missing: readonly string[]
    }[]
  }
  readonly nodes: readonly { readonly name: string; readonly eligible: boolean; readonly comment?: string }[]
}

/** The report of every running replica, once it satisfies the condition. */
function everywhere(what: string, isSo: (report: Told) => boolean): Promise<Told> {
  return eventually(what, async () => {
    const urls = fleet()
      .working()
      .map(index => fleet().url(index))
    const answers = await Promise.all(urls.map(url => fleet().admin.at(url).request<Told>('prepulls')))
    return answers.every(({ status, body }) => status === 200 && isSo(body)) ? answers[0]!.body : null
  })
}

const [a, b, c] = ['a', 'b', 'c'].map(node => site.name(node))
const missing = ({ images }: Told) => images.pending.flatMap(each => each.missing).join(' ')

test('prepulling continues on another replica when one is killed between a record and its action', async () => {
  const pending = await everywhere('that a and b lack it', report => missing(report) === `${a} ${b}`)
  expect(pending.images.pending).toEqual([
    expect.objectContaining({ reference, digest, tag: 'recommended', missing: [a, b], nodes: [] }),
  ])
  expect(pending.nodes.find(({ name }) => name === c)).toMatchObject({ eligible: false, comment: 'It is cordoned' })
  const [set] = await eventually('a DaemonSet', async () => ((await site.sets()).length > 0 ? site.sets() : null))
  const arm = fleet().arm('prepull.recorded', 'kill')
  await site.pulls('recommended', 'a')
  await arm.landed()
  await eventually('that it is gone', async () => fleet().working().length === 2)
  await everywhere('that b lacks it', report => missing(report) === b)
  expect((await site.sets()).map(({ metadata }) => metadata.uid)).toEqual([set!.metadata.uid])
  await site.pulls('recommended', 'b')
  const { images } = await everywhere('that none lacks it', report => missing(report) === '')
  expect(images.prepulled).toEqual([expect.objectContaining({ reference, nodes: [a, b] })])
  await eventually('that the DaemonSet is gone', async () => (await site.sets()).length === 0)
  const { body } = await fleet().admin.request<Record<string, { prepulled: boolean }>>('images')
  expect(body.recommended!.prepulled).toBe(true)
})

test('prepulling pulls a moved tag again', async () => {
  const moved = registry.push('w_2026_02', 2000)
  registry.manifests.set('recommended', registry.manifests.get('w_2026_02')!)
  await fleet().world.redis.flushall()
  // Without its records it also lacks the former image, until the registry is read.
  const lacks = (report: Told) => missing(report) === `${a} ${b}` && report.images.pending[0]!.digest === moved
  await everywhere('that a and b lack what it is now', lacks)
  for (const node of ['a', 'b']) await site.pulls(`recommended@${moved}`, node)
  await everywhere('that none lacks it', each => missing(each) === '')
})
