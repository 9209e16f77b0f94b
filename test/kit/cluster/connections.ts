/** Tests of connections on a real node: pods and addresses of the machine that answer, and attempts from a pod. */
import { createServer } from 'node:net'
import type { TestContext } from 'vitest'
import { bridge } from '../../../dev/node/record.ts'
import { run } from '../../../dev/process/command.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { testBed } from '../testbed.ts'
import { eventually, type World } from './world.ts'

/** The target of a connection. */
export interface Target {
  /** Its name in results. */
  readonly name: string
  /** IPv4 address. */
  readonly host: string
  readonly port: number
  readonly udp?: boolean
}

export interface PodPlace {
  readonly namespace: string
  readonly pod: string
  /** The pod's address. */
  readonly host: string
}

/** The namespace of pods that are no labs: it exists from the start of a cluster, with its service account. */
export const peersNamespace = 'default'

/** Time for the first packet of a connection and a repeat a second later: a permitted connection is open by then. */
const shutSeconds = 2.5
/** Above the need of a busy machine. */
const openSeconds = 20

const answering = `
import asyncio, sys

class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.transport.sendto(data, address)

async def main():
    servers = []
    for port in map(int, sys.argv[1:]):
        servers.append(await asyncio.start_server(lambda reader, writer: writer.close(), '0.0.0.0', port))
        loop = asyncio.get_running_loop()
        servers.append(await loop.create_datagram_endpoint(Echo, local_addr=('0.0.0.0', port)))
    await asyncio.Event().wait()

asyncio.run(main())
`

const trying = `
import json, socket, sys, time
from concurrent.futures import ThreadPoolExecutor

def ask(target, seconds):
    udp = target.get('udp', False)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as s:
        s.settimeout(min(seconds, 0.5) if udp else seconds)
        s.connect((target['host'], target['port']))
        if udp:
            s.send(b'?')
            s.recv(1)

def answers(target, limit):
    end = time.monotonic() + limit
    while (left := end - time.monotonic()) > 0:
        try:
            ask(target, left)
            return True
        except OSError:
            time.sleep(0.05)
    return False

def answering(targets, limit):
    with ThreadPoolExecutor(max(1, len(targets))) as threads:
        answered = threads.map(lambda target: answers(target, limit), targets)
        return [target['name'] for target, did in zip(targets, answered) if did]

plan = json.loads(sys.argv[1])
print(json.dumps([name for part in plan for name in answering(part['targets'], part['limit'])]))
`

/** A command that listens on ports, TCP and UDP, and answers every connection. */
export const answeringOn = (...ports: readonly number[]): string[] => ['python3', '-c', answering, ...ports.map(String)]

/**
 * The names of the targets that answered a pod. `open` targets come after the `shut` ones and have more time: their
 * answers show that the silence of the others was no slowness of the machine.
 */
export async function reachedFrom(
  { namespace, pod }: PodPlace,
  { shut = [], open }: { readonly shut?: readonly Target[]; readonly open: readonly Target[] },
): Promise<string[]> {
  const plan = [
    { targets: shut, limit: shutSeconds },
    { targets: open, limit: openSeconds },
  ]
  const { kubectl, kubeconfig } = testBed()
  const inside = ['exec', '-n', namespace, pod, '--', 'python3', '-c', trying, JSON.stringify(plan)]
  return JSON.parse(await run(kubectl, ['--kubeconfig', kubeconfig, ...inside]))
}

export const namesOf = (targets: readonly Target[]): string[] => targets.map(({ name }) => name)

/** Starts a pod that is no lab, answers on ports and ends with the test. Resolves when it is ready. */
export async function startPeer(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  { kube }: Pick<World, 'kube'>,
  { name, labels, ports, namespace = peersNamespace }: Peer,
): Promise<PodPlace> {
  onTestFinished(() => kube.delete('Pod', name, namespace, 0))
  await kube.create(peerPod({ name, labels, ports, namespace }))
  const host = await eventually(`the pod ${name}`, () => addressWhenReady(kube, name, namespace), 60_000)
  return { namespace, pod: name, host }
}

interface Peer {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly ports: readonly number[]
  /** An existing namespace. Default: the one of all peers. */
  readonly namespace?: string
}

function peerPod({ name, labels, ports, namespace }: Required<Peer>): KubeObject {
  const { registry, docker, recommendedTag = 'recommended' } = testBed().images
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      automountServiceAccountToken: false,
      // Low ports need root.
      securityContext: { runAsUser: 0 },
      containers: [
        {
          name: 'peer',
          image: `${registry}/${docker!.repository}:${recommendedTag}`,
          command: answeringOn(...ports),
          readinessProbe: { tcpSocket: { port: ports[0] }, periodSeconds: 1 },
        },
      ],
    },
  }
}

async function addressWhenReady(kube: World['kube'], name: string, namespace: string): Promise<string | undefined> {
  const status = (await kube.get('Pod', name, namespace))?.status
  const isReady = status?.conditions?.some(
    ({ type, status }: { type: string; status: string }) => type === 'Ready' && status === 'True',
  )
  return isReady ? status.podIP : undefined
}

/** Makes the machine answer at an IPv4 address that only pods of the real node can reach, until the test ends. */
export async function answerAt(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  name: string,
  host: string,
): Promise<Target> {
  onTestFinished(async () => void (await run('ip', ['addr', 'del', `${host}/32`, 'dev', bridge])))
  // An address that a killed run left is taken over.
  await run('ip', ['addr', 'replace', `${host}/32`, 'dev', bridge])
  const server = createServer(socket => socket.on('error', () => {}).end())
  onTestFinished(() => void server.close())
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port: 0 }, () => resolve((server.address() as { port: number }).port))
  })
  return { name, host, port }
}
