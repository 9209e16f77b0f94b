/** NetworkPolicies on a real node, where somebody enforces them: what a lab's policy means in connections. */
import { expect, type TestContext, test } from 'vitest'
import { firstServiceIp } from '../../box/credentials.ts'
import { enforcePolicies } from '../../box/network-policies.ts'
import { clusterFolder } from '../../box/teardown.ts'
import { labNames } from '../../src/labs/names.ts'
import {
  answerAt,
  answeringOn,
  namesOf,
  type PodPlace,
  reachedFrom,
  startPeer,
  type Target,
} from './harness/connections.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import { testPlace } from './harness/place.ts'

/** Ranges for documentation: nobody else has them. */
const network = {
  proxySelector: { app: 'jupyterhub', component: 'proxy' },
  hubSelector: { app: 'jupyterhub', component: 'hub' },
  clusterRanges: ['10.0.0.0/8', '198.51.100.0/24'],
  egressRanges: ['198.51.100.2/32'],
}
const labPort = 8888
const otherPort = 9999
const namesPort = 53

interface Lab extends PodPlace {
  /** Its Service's address. */
  readonly service: string
}

/** What runs in it listens on a second port too, which no policy opens. */
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

/** All that takes part: two labs, the pods around them, and what answers from outside. */
async function setTheScene(context: TestContext) {
  const fleet = await startFleet(context, { replicas: 1, config: { network, lab } })
  const peer = (name: string, labels: Readonly<Record<string, string>>) =>
    startPeer(context, fleet.world, { name: `${fleet.name}-${name}`, labels, ports: [labPort, namesPort] })
  const [one, other, proxy, hub, stranger] = await Promise.all([
    makeLab(fleet),
    makeLab(fleet),
    peer('proxy', network.proxySelector),
    peer('hub', network.hubSelector),
    peer('stranger', { app: 'jupyterhub' }),
  ])
  return { fleet, one, other, proxy, hub, stranger }
}

type Scene = Awaited<ReturnType<typeof setTheScene>>

interface Attempts {
  readonly from: PodPlace
  readonly open: readonly Target[]
  readonly shut: readonly Target[]
}

/** Into the lab: its port, for proxy and hub alone. */
function inward({ one, proxy, hub, stranger }: Scene): Attempts[] {
  const port: Target = { name: 'the lab', host: one.host, port: labPort }
  const service: Target = { name: 'its service', host: one.service, port: labPort }
  const another: Target = { name: 'another port of it', host: one.host, port: otherPort }
  return [
    { from: proxy, open: [port, service], shut: [another] },
    { from: hub, open: [port, service], shut: [another] },
    // That it can connect to somebody shows that the lab's silence is meant.
    { from: stranger, open: [{ name: 'the proxy', host: proxy.host, port: labPort }], shut: [port, service, another] },
  ]
}

/** Out of the lab: names, proxy, hub, what is outside the cluster and what is configured. */
async function outward(context: TestContext, { one, other, proxy, hub, stranger }: Scene): Promise<Attempts> {
  return {
    from: one,
    open: [
      { name: 'names', host: stranger.host, port: namesPort, udp: true },
      { name: 'names by TCP', host: stranger.host, port: namesPort },
      { name: 'the proxy', host: proxy.host, port: labPort },
      { name: 'the hub', host: hub.host, port: labPort },
      await answerAt(context, 'outside the cluster', '203.0.113.1'),
      await answerAt(context, 'an egress range', '198.51.100.2'),
    ],
    shut: [
      { name: 'another pod', host: stranger.host, port: labPort },
      { name: 'another pod by UDP', host: stranger.host, port: labPort, udp: true },
      { name: 'another lab', host: other.host, port: labPort },
      { name: 'its service', host: other.service, port: labPort },
      { name: 'the API server', host: firstServiceIp, port: 443 },
      await answerAt(context, 'in the cluster’s ranges', '198.51.100.1'),
      await answerAt(context, 'a link-local address', '169.254.77.1'),
    ],
  }
}

const reached = (attempts: readonly Attempts[]) =>
  Promise.all(attempts.map(({ from, open, shut }) => reachedFrom(from, { open, shut })))

test('what a lab’s policy lets through passes, all else is refused; without it everything passes', async context => {
  const { stateDir, kubeconfig } = testPlace()
  const enforcer = await enforcePolicies({ stateDir: clusterFolder(stateDir), kubeconfig, signal: context.signal })
  context.onTestFinished(() => enforcer.stop())
  const scene = await setTheScene(context)
  const attempts = [...inward(scene), await outward(context, scene)]
  expect(await reached(attempts)).toEqual(attempts.map(({ open }) => namesOf(open)))
  // The control: by the policies alone was anything refused.
  for (const { namespace, pod } of [scene.one, scene.other]) {
    await scene.fleet.world.kube.delete('NetworkPolicy', pod, namespace)
  }
  const all = attempts.map(({ from, open, shut }) => ({ from, open: [...open, ...shut], shut: [] }))
  expect(await reached(all)).toEqual(all.map(({ open }) => namesOf(open)))
}, 180_000)
