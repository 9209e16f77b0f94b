/** Prepulling by a real kubelet from a real registry: one image that exists, and one that cannot be pulled. */
import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { blobPath, writeLayout } from '../../dev/image/layout.ts'
import { copyPrograms } from '../../dev/image/programs.ts'
import { pushLayout } from '../../dev/image/push.ts'
import { nodeName } from '../../dev/kube/credentials.ts'
import { containerdSocket } from '../../dev/node/runtime.ts'
import { run } from '../../dev/process/command.ts'
import { clusterFolder } from '../../dev/run/teardown.ts'
import type { ImagesJson, PrepullsJson } from '../../src/api/images/json.ts'
import { fromMenu } from '../../src/images/catalogue/reference.ts'
import { prepullLabel } from '../../src/images/prepull/pull-set.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { blobFile, manifestFile, type RealRegistry, startDockerRegistry } from '../kit/images/docker-registry.ts'
import { testBed } from '../kit/testbed.ts'

const repository = 'team/lab'
/** The controller's namespace. */
const namespace = 'skylab'
/** Includes the kubelet's own pauses. */
const pullLimitMs = 30_000

interface Pushed {
  readonly tag: string
  readonly reference: string
  readonly digest: string
  /** The file of its one layer in the registry. */
  readonly layer: string
}

/** Pushes an image with a shell and a new layer, which no node can have. */
async function push(registry: RealRegistry, tag: string): Promise<Pushed> {
  const folder = join(registry.stateDir, tag)
  const [rootfs, layout] = [join(folder, 'rootfs'), join(folder, 'layout')]
  await copyPrograms(rootfs, { sh: '/bin/sh', sleep: '/bin/sleep' })
  await writeFile(join(rootfs, 'name'), `${tag} ${randomUUID()}\n`)
  await writeLayout({ rootfs, out: layout, name: 'lab', config: { Env: ['PATH=/bin'] } })
  const digest = await pushLayout({ layout, registry: registry.address, repository, tags: [tag] })
  const { layers } = JSON.parse(await readFile(blobPath(layout, digest), 'utf8'))
  const layer = blobFile(registry, layers[0].digest)
  return { tag, reference: `${registry.address}/${repository}:${tag}`, digest, layer }
}

const putAside = ({ layer }: Pushed) => rename(layer, `${layer}.aside`)
const putBack = ({ layer }: Pushed) => rename(`${layer}.aside`, layer)

/** Starts replicas that prepull; removes their objects from the controller's namespace afterwards. */
async function startPrepulling(context: TestContext, registry: RealRegistry, pins: string[]): Promise<Fleet> {
  const installation = `p${randomUUID().slice(0, 8)}`
  const admin = new AdminKube(testBed().kubeconfig)
  context.onTestFinished(async () => {
    const sets = await pullObjects(admin, 'daemonsets', installation)
    await Promise.all(sets.map(({ metadata }) => admin.delete('DaemonSet', metadata.name, namespace)))
    admin.close()
  })
  const images = {
    registry: registry.address,
    docker: { repository },
    refreshIntervalSeconds: 3600,
    numReleases: 0,
    numWeeklies: 1,
    numDailies: 0,
    pins,
    prepull: { retrySeconds: 1 },
  }
  const lab = { command: ['/bin/sh', '-c', 'exec sleep 1000000'], startupProbe: 'none' as const }
  return startFleet(context, { replicas: 2, installation, config: { images, lab } })
}

const paths = { daemonsets: '/apis/apps/v1', pods: '/api/v1' }

/** Objects of one installation that pull images. */
const pullObjects = (kube: AdminKube, kind: keyof typeof paths, installation: string) =>
  kube.list(`${paths[kind]}/namespaces/${namespace}/${kind}`, `${prepullLabel}=${installation}`)

/** A part of an administrator's answer, once every replica has it: each one watches nodes and pods by itself. */
async function answer<Body, Part>(fleet: Fleet, path: string, part: (body: Body) => Part, limitMs?: number) {
  const ask = async (url: string) => {
    const { status, body } = await fleet.admin.at(url).request<Body>(path)
    return status === 200 ? part(body) : null
  }
  const wanted = (url: string) => eventually(`what is wanted of ${path} at ${url}`, () => ask(url), limitMs)
  const [first] = await Promise.all(fleet.urls.map(wanted))
  return first!
}

/** The pending entry of an image, once its reason matches. */
const pendingWith = (fleet: Fleet, { tag }: Pushed, words: RegExp) =>
  answer(
    fleet,
    'prepulls',
    ({ images }: PrepullsJson) => images.pending.find(image => image.tag === tag && words.test(image.error ?? '')),
    pullLimitMs,
  )

const prepulled = (fleet: Fleet, { tag }: Pushed) =>
  answer(
    fleet,
    'prepulls',
    ({ images }: PrepullsJson) => images.prepulled.find(image => image.tag === tag),
    pullLimitMs,
  )

const weeklyOf = (fleet: Fleet) => answer(fleet, 'images', (images: ImagesJson) => images['latest-weekly'])

/** Values of the radio buttons that choose an image. */
async function radios(fleet: Fleet): Promise<string[]> {
  const user = fleet.as('admin')
  const { body } = await user.request<string>(`lab-form/${user.username}`)
  return [...body.matchAll(/type="radio" name="image_list" value="([^"]*)"/g)].map(([, value]) => value!)
}

/** Names of the node's images in containerd. */
async function imagesOfNode(): Promise<string[]> {
  const socket = containerdSocket(clusterFolder(testBed().stateDir))
  return (await run('ctr', ['--address', socket, '--namespace', 'k8s.io', 'images', 'ls', '-q'])).split('\n')
}

const nameOnNode = ({ reference, tag, digest }: Pushed) => `${reference.slice(0, -`:${tag}`.length)}@${digest}`

/** Reasons and messages of the cluster's events about a lab's pod, once its container was started. */
async function eventsOfLab(fleet: Fleet): Promise<string> {
  const user = fleet.user()
  expect((await user.create({ image_type: 'latest-weekly', size: 'small' })).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
  // A kubelet can send its events long after the status of the pod, but in order.
  return eventually('the event of the start', async () => {
    const events = await fleet.world.kube.list(`/api/v1/namespaces/${fleet.namespace(user.username)}/events`)
    const lines = events.map(({ reason, message }) => `${reason}: ${message}`)
    return lines.some(each => each.startsWith('Started: ')) ? lines.join('\n') : null
  })
}

test('prepulling brings an image to the node before a lab needs it, and reports why another one failed', async context => {
  const registry = await startDockerRegistry()
  context.onTestFinished(() => registry.stop())
  const recommended = await push(registry, 'recommended')
  const weekly = await push(registry, 'w_2026_02')
  const pinned = await push(registry, 'w_2026_01')
  await Promise.all([weekly, pinned].map(putAside))
  const fleet = await startPrepulling(context, registry, [pinned.tag])

  // Both lack their layer in the registry.
  for (const image of [weekly, pinned]) {
    const { error, ...rest } = await pendingWith(fleet, image, /./)
    const { tag, reference, digest } = image
    expect(rest).toMatchObject({ tag, reference, digest, nodes: [], missing: [nodeName] })
    expect(error).toMatch(/^node-1: The image cannot be pulled: it does not exist \(.*not found/s)
  }
  await prepulled(fleet, recommended)
  expect(await weeklyOf(fleet)).toMatchObject({ tag: weekly.tag, digest: weekly.digest, prepulled: false })
  expect(await radios(fleet)).not.toContain(weekly.reference)
  expect(await imagesOfNode()).not.toContain(nameOnNode(weekly))

  // Now one has its layer again, and the other has lost even its manifest.
  await putBack(weekly)
  await rm(manifestFile(registry, repository, pinned.digest))
  const now = await prepulled(fleet, weekly)
  expect(now).toMatchObject({ reference: weekly.reference, digest: weekly.digest, nodes: [nodeName] })
  expect(now).not.toHaveProperty('missing')
  expect(await weeklyOf(fleet)).toMatchObject({ tag: weekly.tag, prepulled: true })
  expect(await radios(fleet)).toEqual([recommended.reference, weekly.reference, fromMenu])
  expect(await imagesOfNode()).toContain(nameOnNode(weekly))
  const events = await eventsOfLab(fleet)
  expect(events).toMatch(/^Pulled: .*already present on machine/m)
  expect(events).not.toMatch(/^Pulling/m)

  await pendingWith(fleet, pinned, /failed to resolve reference .*: not found/)
  for (const kind of ['daemonsets', 'pods'] as const) {
    const objects = () => pullObjects(fleet.world.kube, kind, fleet.installation)
    await eventually(`no ${kind} that pull`, async () => (await objects()).length === 0)
  }
  const node = await answer(fleet, 'prepulls', ({ nodes }: PrepullsJson) => nodes.find(({ name }) => name === nodeName))
  expect(node).toEqual({ name: nodeName, eligible: true, cached: [recommended.reference, weekly.reference] })
}, 300_000)
