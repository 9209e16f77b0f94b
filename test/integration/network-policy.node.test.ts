/** NetworkPolicies that are enforced on a real node: which connections a lab's policy allows. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { firstServiceIp } from '../../dev/kube/credentials.ts'
import { k8sFolder } from '../../dev/kube/kustomize.ts'
import { enforcePolicies } from '../../dev/node/network-policies.ts'
import { clusterFolder } from '../../dev/run/teardown.ts'
import { groupsOf } from '../../src/apps/groups.ts'
import { renderApp } from '../../src/apps/render.ts'
import { readApp } from '../../src/apps/spec.ts'
import { labNames } from '../../src/labs/names.ts'
import { appFact, appSettings } from '../kit/apps/facts.ts'
import { application } from '../kit/apps/objects.ts'
import {
  answerAt,
  answeringOn,
  namesOf,
  type PodPlace,
  peersNamespace,
  reachedFrom,
  startPeer,
  type Target,
} from '../kit/cluster/connections.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

const labPort = 8888
const otherPort = 9999
const namesPort = 53
/**
 * Documentation ranges, which belong to no network. An operator tries to open two of the addresses that serve cloud
 * credentials, and closes none.
 */
const network = {
  proxySelector: { app: 'jupyterhub', component: 'proxy' },
  proxyNamespace: peersNamespace,
  proxyPorts: [labPort],
  hubSelector: { app: 'jupyterhub', component: 'hub' },
  hubNamespace: peersNamespace,
  hubPorts: [labPort],
  dns: { namespace: peersNamespace, selectors: [{ 'k8s-app': 'kube-dns' }] },
  clusterRanges: ['10.0.0.0/8', '198.51.100.0/24'],
  egressRanges: ['198.51.100.2/32', '100.100.100.0/24', '168.63.129.0/24'],
}
const credentials = ['169.254.77.1', '168.63.129.16', '100.100.100.200', '192.0.0.192']

interface Lab extends PodPlace {
  /** Address of its Service. */
  readonly service: string
}

/** The lab listens on a second port too, which no policy opens. */
const lab = { command: answeringOn(labPort, otherPort), startupProbe: 'tcp' as const }

async function makeLab(fleet: Fleet): Promise<Lab> {
  const user = fleet.user()
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  const names = labNames(fleet.namespacePrefix, user.username)
  const pod = await fleet.world.podOf(user.username)
  const service = await fleet.world.kube.get('Service', names.lab, names.namespace)
  return { namespace: names.namespace, pod: names.lab, host: pod.status.podIP, service: service.spec.clusterIP }
}

interface AskedLab extends Lab {
  readonly installation: string
}

/** A lab that reaches apps, of an installation whose controller, in this namespace, asks labs whether they are used. */
async function makeAskedLab(context: TestContext, namespace: string): Promise<AskedLab> {
  const ways = { ...network, appsOfGroups: true }
  const config = { network: ways, lab, idle: { enabled: true }, kubernetes: { namespace } }
  const fleet = await startFleet(context, { replicas: 1, config })
  return { ...(await makeLab(fleet)), installation: fleet.installation }
}

interface App extends PodPlace {
  readonly policy: string
}

/** A pod of an app of this group, under the policies that its controller would make. The group has the namespace alone. */
async function makeApp(context: TestContext, fleet: Fleet, group: string, installation: string): Promise<App> {
  const namespace = await makeNamespace(context, fleet, group)
  const fact = appFact(application(namespace, 'app', { groupName: group, httpPort: labPort }))
  const settings = { ...appSettings({ groups: { [group]: { namespace } }, labs: true }), installation }
  const { spec } = readApp(fact, settings, { groups: groupsOf(namespace, settings, () => false), isTaken: false })
  const { objects } = renderApp(
    fact,
    { ...spec!, ports: [{ ...spec!.ports[0]!, targetPort: labPort }] },
    settings,
    false,
  )
  const [policy, , , deployment] = objects.map(({ object }) => object)
  const { name, labels } = policy!.metadata
  await fleet.world.kube.create({ ...policy!, metadata: { name, labels: labels!, namespace } })
  const pod = `${fleet.name}-app-${group}`
  const place = await startPeer(context, fleet.world, {
    ...{ name: pod, namespace, ports: [labPort, otherPort] },
    labels: { ...deployment!.metadata.labels },
  })
  return { ...place, policy: name }
}

/** All participants: three labs, the pods around them, and servers outside. */
async function setTheScene(context: TestContext) {
  const fleet = await startFleet(context, { replicas: 1, config: { network, lab } })
  const namespace = await makeNamespace(context, fleet, 'controller')
  await addBasePolicies(fleet, namespace)
  const elsewhere = await makeNamespace(context, fleet, 'elsewhere')
  const ports = [labPort, namesPort, otherPort]
  const peer = (name: string, labels: Readonly<Record<string, string>>, more: { namespace?: string } = {}) =>
    startPeer(context, fleet.world, { name: `${fleet.name}-${name}`, labels, ports, ...more })
  const part = (component: string) => ({
    'app.kubernetes.io/name': 'skylab',
    'app.kubernetes.io/component': component,
  })
  const [one, other, asked, proxy, hub, names, stranger, impostor, controller, prepull] = await Promise.all([
    makeLab(fleet),
    makeLab(fleet),
    makeAskedLab(context, namespace),
    peer('proxy', network.proxySelector),
    peer('hub', network.hubSelector),
    peer('names', { 'k8s-app': 'kube-dns' }),
    peer('stranger', { app: 'jupyterhub' }),
    peer('impostor', network.hubSelector, { namespace: elsewhere }),
    peer('controller', part('controller'), { namespace }),
    peer('prepull', part('prepull'), { namespace }),
  ])
  const [app, foreignApp] = await Promise.all([
    makeApp(context, fleet, 'observers', asked.installation),
    makeApp(context, fleet, 'others', asked.installation),
  ])
  return { fleet, one, other, asked, proxy, hub, names, stranger, impostor, controller, prepull, app, foreignApp }
}

async function makeNamespace(context: TestContext, { name, world: { kube } }: Fleet, what: string): Promise<string> {
  const namespace = `${name}-${what}`
  context.onTestFinished(() => kube.delete('Namespace', namespace))
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return namespace
}

/** The policies of `k8s/base`, for pods beside the controller. */
async function addBasePolicies({ world: { kube } }: Fleet, namespace: string): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(join(k8sFolder, 'base', 'network.yaml'), 'utf8'))) {
    const policy = document.toJS()
    await kube.create({ ...policy, metadata: { name: policy.metadata.name, namespace } })
  }
}

type Scene = Awaited<ReturnType<typeof setTheScene>>

interface Attempts {
  readonly from: PodPlace
  readonly open: readonly Target[]
  readonly shut: readonly Target[]
}

/** Connections into the lab: its port, for proxy and hub, and for the controller that asks labs. */
function inward({ one, asked, proxy, hub, stranger, controller, impostor }: Scene): Attempts[] {
  const port: Target = { name: 'the lab', host: one.host, port: labPort }
  const service: Target = { name: 'its service', host: one.service, port: labPort }
  const another: Target = { name: 'another port of it', host: one.host, port: otherPort }
  const askedPort: Target = { name: 'the lab that is asked', host: asked.host, port: labPort }
  const askedOther: Target = { name: 'another port of that lab', host: asked.host, port: otherPort }
  return [
    { from: proxy, open: [port, service], shut: [another] },
    { from: hub, open: [port, service], shut: [another] },
    // The stranger can connect to the proxy, so its failure at the lab is the policy's doing.
    {
      from: stranger,
      open: [{ name: 'the proxy', host: proxy.host, port: labPort }],
      shut: [port, service, another, askedPort],
    },
    // Their policies let the controller out, and no pod beside it.
    {
      from: controller,
      open: [{ name: 'the proxy', host: proxy.host, port: labPort }, askedPort],
      shut: [port, service, askedOther],
    },
    // It has the labels of the hub, but another namespace.
    { from: impostor, open: [{ name: 'the proxy', host: proxy.host, port: labPort }], shut: [port, service] },
  ]
}

/** Connections to apps: from a lab whose user is in the group of one, and from others. */
function toApps({ one, asked, stranger, proxy, app, foreignApp }: Scene): Attempts[] {
  const port: Target = { name: 'the app', host: app.host, port: labPort }
  const another: Target = { name: 'another port of it', host: app.host, port: otherPort }
  const foreign: Target = { name: 'the app of others', host: foreignApp.host, port: labPort }
  return [
    { from: asked, open: [port], shut: [another, foreign] },
    // Of the same groups, of an installation whose labs reach no apps.
    { from: one, open: [], shut: [port, foreign] },
    {
      from: stranger,
      open: [{ name: 'the proxy', host: proxy.host, port: labPort }],
      shut: [port, foreign],
    },
  ]
}

/** Connections out of the lab, and out of pods beside the controller. */
async function outward(context: TestContext, scene: Scene): Promise<Attempts[]> {
  const { one, other, proxy, hub, names, stranger, controller, prepull } = scene
  const outside = await answerAt(context, 'outside the cluster', '203.0.113.1')
  const serving = await Promise.all(credentials.map(host => answerAt(context, `credentials at ${host}`, host)))
  const named = [
    { name: 'names', host: names.host, port: namesPort, udp: true },
    { name: 'names by TCP', host: names.host, port: namesPort },
  ]
  const labTargets = {
    from: one,
    open: [
      ...named,
      { name: 'the proxy', host: proxy.host, port: labPort },
      { name: 'the hub', host: hub.host, port: labPort },
      outside,
      await answerAt(context, 'an egress range', '198.51.100.2'),
      await answerAt(context, 'an egress range around credentials', '100.100.100.1'),
    ],
    shut: [
      { name: 'another pod', host: stranger.host, port: labPort },
      { name: 'another pod by UDP', host: stranger.host, port: labPort, udp: true },
      { name: 'names of another pod', host: stranger.host, port: namesPort, udp: true },
      { name: 'names of another pod by TCP', host: stranger.host, port: namesPort },
      { name: 'another port of the proxy', host: proxy.host, port: otherPort },
      { name: 'another port of the hub', host: hub.host, port: otherPort },
      { name: 'another port of the names', host: names.host, port: labPort },
      { name: 'another lab', host: other.host, port: labPort },
      { name: 'its service', host: other.service, port: labPort },
      { name: 'the API server', host: firstServiceIp, port: 443 },
      await answerAt(context, 'in the cluster’s ranges', '198.51.100.1'),
      ...serving,
    ],
  }
  return [
    labTargets,
    { from: controller, open: [...named, outside], shut: serving },
    {
      from: prepull,
      open: [],
      shut: [...named, outside, ...serving, { name: 'the API server', host: firstServiceIp, port: 443 }],
    },
  ]
}

const reached = (attempts: readonly Attempts[]) =>
  Promise.all(attempts.map(({ from, open, shut }) => reachedFrom(from, { open, shut })))

test('a lab’s policy allows its connections and refuses all others; without it all connections work', async context => {
  const { stateDir, kubeconfig } = testBed()
  const enforcer = await enforcePolicies({ stateDir: clusterFolder(stateDir), kubeconfig, signal: context.signal })
  context.onTestFinished(() => enforcer.stop())
  const scene = await setTheScene(context)
  const attempts = [...inward(scene), ...toApps(scene), ...(await outward(context, scene))]
  expect(await reached(attempts)).toEqual(attempts.map(({ open }) => namesOf(open)))
  // The control: only the policies refused connections.
  for (const { namespace, pod } of [scene.one, scene.other, scene.asked]) {
    await scene.fleet.world.kube.delete('NetworkPolicy', pod, namespace)
  }
  for (const { namespace, policy } of [scene.app, scene.foreignApp]) {
    await scene.fleet.world.kube.delete('NetworkPolicy', policy, namespace)
  }
  for (const name of ['skylab', 'skylab-nobody']) {
    await scene.fleet.world.kube.delete('NetworkPolicy', name, scene.controller.namespace)
  }
  const all = attempts.map(({ from, open, shut }) => ({ from, open: [...open, ...shut], shut: [] }))
  expect(await reached(all)).toEqual(all.map(({ open }) => namesOf(open)))
}, 180_000)
