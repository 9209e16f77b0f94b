/**
 * One container on an installation in the cluster, under its NetworkPolicies: it runs on a machine of the test cloud, and goes
 * on there while the pod that keeps the machine is killed.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import { firstServiceIp } from '../kube/credentials.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { nodeIp } from '../node/network.ts'
import { enforcePolicies } from '../node/network-policies.ts'
import { waitUntil } from '../process/api-client.ts'
import { type InCluster, rolledOut } from './stack.ts'
import { openWayIn } from './way-in.ts'

export interface ShownContainer {
  readonly uuid: string
  /** The cloud's id of the machine that it ran on. */
  readonly machine: string
  /** Pods that kept the machine: the one that was killed, and the next one. */
  readonly killed: string
  readonly keptBy: string
  readonly state: string
  readonly exitCode: number | null
  /** How often it began. */
  readonly runs: number
  readonly output: string
  /** What a pod of dispatch reaches under its NetworkPolicies. */
  readonly reaches: { readonly cloud: boolean; readonly apiServer: boolean }
  readonly seconds: {
    /** From the request until it ran: the machine was made, reached by SSH, and got the program. */
    readonly running: number
    /** From the kill to the next keeper. */
    readonly takeOver: number
  }
}

type Site = Pick<InCluster, 'cluster' | 'kubectl' | 'users' | 'images' | 'authority'> & {
  readonly podCloud: NonNullable<InCluster['podCloud']>
}

interface Scene extends Site {
  /** Where users come in. */
  readonly url: string
  readonly signal: AbortSignal | undefined
}

/** Against hanging, not for speed. */
const limitMs = 120_000
const word = '/run/word'
/** It says who it is, and waits for a word. */
const command = ['sh', '-c', `echo $$ on $(hostname); until [ -e ${word} ]; do sleep 0.1; done; echo $$ ends`]
const body = { command, container_image: 'none', runtime_constraints: { vcpus: 1, ram: 2 ** 30 } }

export async function showContainer(site: Site, signal?: AbortSignal): Promise<ShownContainer> {
  const { cluster, kubectl, images, authority } = site
  const enforcer = await enforcePolicies({ stateDir: cluster.stateDir, kubeconfig: cluster.kubeconfig, signal })
  try {
    const service = 'skylab-dispatch.skylab.svc'
    const way = await openWayIn({ kubectl, image: images.controller, service, authority, signal })
    const shown = await tell({ ...site, url: way.url, signal })
    await way.close()
    return shown
  } finally {
    await enforcer.stop()
  }
}

async function tell(scene: Scene): Promise<ShownContainer> {
  const { podCloud, kubectl } = scene
  const begunMs = systemClock.monotonicMs()
  const { uuid } = JSON.parse(await asAda(scene, '', body))
  const find = async () => JSON.parse(await asAda(scene, `/${uuid}`))
  const until: Until = (what, question) => waitUntil(question, { what, limitMs, signal: scene.signal })
  await until('a container that runs', async () => (await find()).state === 'Running')
  const running = since(begunMs)
  const { instance: machine } = await find()
  const { killed, keptBy, takeOver } = await killKeeper(scene, until)
  writeFileSync(podCloud.cloud.machines!.get(machine).path(word), '')
  await until('a container that is Complete', async () => (await find()).state === 'Complete')
  const { state, exit_code: exitCode, attempt: runs } = await find()
  const output = await asAda(scene, `/${uuid}/log`)
  await until('the end of the machine', async () => podCloud.cloud.live().length === 0)
  await rolledOut(kubectl, 'deployment/skylab-dispatch')
  const reaches = await reachesOf(kubectl, keptBy)
  const shown = { ...{ uuid, machine, killed, keptBy, state, exitCode, runs, output, reaches } }
  demand(shown)
  return { ...shown, seconds: { running, takeOver } }
}

/** @throws at the first fact that is not as the story says */
export function demand({ machine, exitCode, runs, output, reaches }: Omit<ShownContainer, 'seconds'>): void {
  const [, pid] = /^(\d+) on /.exec(output) ?? []
  if (output !== `${pid} on ${machine}\n${pid} ends\n`) throw new Error(`not the output of one process: ${output}`)
  if (exitCode !== 0 || runs !== 1) throw new Error(`it ended with ${exitCode} after ${runs} runs`)
  if (!reaches.cloud) throw new Error('a pod of dispatch does not reach the cloud')
  if (reaches.apiServer) throw new Error('a pod of dispatch reaches the API server: no NetworkPolicy holds')
}

const since = (begunMs: number) => roundSeconds(systemClock.monotonicMs() - begunMs)

async function asAda({ url, users, signal }: Scene, path: string, sent?: object): Promise<string> {
  const headers = { authorization: `Bearer ${users.ada!.token}`, 'content-type': 'application/json' }
  const request = { headers, ...(signal && { signal }), ...(sent && { method: 'POST', body: JSON.stringify(sent) }) }
  const answer = await fetch(`${url}/dispatch/v1/containers${path}`, request)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`/containers${path} is answered ${answer.status}: ${text}`)
  return text
}

type Until = (what: string, question: () => Promise<boolean>) => Promise<void>

async function killKeeper({ kubectl }: Scene, until: Until) {
  const killed = await keeperOf(kubectl, until)
  const begunMs = systemClock.monotonicMs()
  // Without its pod the container is not started again; without the signal it would hand the machine over.
  await kubectl(['delete', 'pod', killed, '-n', 'skylab', '--grace-period=0', '--force', '--wait=false'])
  killProgram(killed)
  const keptBy = await keeperOf(kubectl, until, killed)
  return { killed, keptBy, takeOver: since(begunMs) }
}

/** The one pod that keeps the machine, and is not `former`. */
async function keeperOf(kubectl: Kubectl, until: Until, former = ''): Promise<string> {
  let keepers: string[] = []
  await until('a pod that keeps the machine', async () => {
    keepers = await keepersOf(kubectl)
    return keepers.length === 1 && keepers[0] !== former
  })
  return keepers[0]!
}

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly status: { readonly podIP?: string }
  }[]
}

/** Pods that keep a machine, by their own metrics. */
async function keepersOf(kubectl: Kubectl): Promise<string[]> {
  const select = ['-n', 'skylab', '-l', 'app.kubernetes.io/component=dispatch', '-o', 'json']
  const { items }: Pods = JSON.parse(await kubectl(['get', 'pods', ...select]))
  const asked = items.map(async ({ metadata: { name }, status: { podIP } }) => {
    const answer = await fetch(`http://${podIP}:8081/metrics`, { signal: AbortSignal.timeout(1000) }).catch(() => null)
    return /^skylab_dispatch_owned(?:{[^}]*})? [1-9]/m.test((await answer?.text()) ?? '') ? [name] : []
  })
  return (await Promise.all(asked)).flat()
}

/** SIGKILL for the program of a pod, which has the pod's name in its environment. */
function killProgram(pod: string): void {
  const found = readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && isProgramOf(pid, pod))
  if (found.length !== 1) throw new Error(`${found.length} processes are the program of ${pod}`)
  process.kill(Number(found[0]), 'SIGKILL')
}

function isProgramOf(pid: string, pod: string): boolean {
  const read = (file: string) => readFileSync(join('/proc', pid, file), 'utf8').split('\0')
  try {
    return read('environ').includes(`HOSTNAME=${pod}`) && read('cmdline').includes('serve')
  } catch {
    // It has ended.
    return false
  }
}

/** Asked from within a pod: a connection that a policy refuses is never answered. */
const asker = `
import { connect } from 'node:net'
const reach = (host, port) => new Promise(resolve => {
  const socket = connect({ host, port, timeout: 2000 })
  const end = is => { socket.destroy(); resolve(is) }
  socket.once('connect', () => end(true)).once('timeout', () => end(false)).once('error', () => end(false))
})
const [cloud, apiServer] = await Promise.all([reach('${nodeIp}', 443), reach('${firstServiceIp}', 443)])
console.log(JSON.stringify({ cloud, apiServer }))
`

async function reachesOf(kubectl: Kubectl, pod: string): Promise<ShownContainer['reaches']> {
  const node = ['/usr/local/bin/node', '--input-type=module', '--eval', asker]
  return JSON.parse(await kubectl(['exec', pod, '-n', 'skylab', '--', ...node]))
}
