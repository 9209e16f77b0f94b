/**
 * The minimum cost of making labs here: plain Node, one kept-alive agent, a bound on requests in flight and one watch.
 * It sends the objects that Skylab would send for the same users, rendered beforehand. It has no record, lease, deadline,
 * event or take-over. A process of its own. The benches `idle` and `looks` make Skylab's labs
 * with it.
 */
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import { systemClock } from '../../src/base/clock.ts'
import type { KubeObject, LabPlan } from '../../src/base/domain.ts'
import { collectionPath, creationPath, objectPath } from '../../src/kube/kinds.ts'
import { labels } from '../../src/kube/labels.ts'
import { withOwnership } from '../../src/labs/render.ts'
import { Trust } from '../../src/ops/trust.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { Sealer } from '../../src/store/sealing.ts'
import { plansOf } from '../measure/plans.ts'
import { answerQuestions } from '../measure/worker.ts'
import { loopConfig, loopInFlight, loopInstallation } from './loop-config.ts'

export type LoopQuestion =
  | {
      readonly do: 'prepare'
      readonly configFile: string
      readonly users: readonly string[]
      /** The installation that the labs belong to; Skylab's are signed as by itself. */
      readonly of: 'loop' | 'skylab'
      /** Whether labs are namespaces and pods alone, the parts that records are made of. */
      readonly bare?: boolean
    }
  /** Makes the labs of some of the users. */
  | { readonly do: 'create'; readonly users: readonly string[] }
  /** Removes all labs. */
  | { readonly do: 'delete' }

/** Maximum idle time of a connection: shorter than the API server's, which would close it during a request. */
const idleMs = 30_000
const retryMs = 100
const pollMs = 250

interface Lab {
  readonly user: string
  readonly namespace: KubeObject
  readonly objects: LabPlan['objects']
  readonly op: number
  namespaceUid: string
  podUid: string
}

interface Server {
  readonly url: string
  readonly authorization: string
  readonly agent: Agent
  /** For the watch, which has a connection of its own. */
  readonly watchAgent: Agent
}

let server: Server
let labs: Lab[] = []
let byLabel = ''

answerQuestions(async (question: LoopQuestion) => {
  if (question.do === 'prepare') return prepare(question)
  const begunMs = systemClock.monotonicMs()
  await (question.do === 'create' ? createAll(question.users) : deleteAll())
  return (systemClock.monotonicMs() - begunMs) / 1000
})

/** @returns number of objects in a lab */
async function prepare(question: Extract<LoopQuestion, { do: 'prepare' }>): Promise<number> {
  const { config: ours, tokens, sealingKeys } = await loadSettings(question.configFile, {})
  const config = question.of === 'loop' ? loopConfig(ours) : ours
  const { installation } = config
  byLabel = `labelSelector=${encodeURIComponent(`${labels.installation}=${installation}`)}`
  server = await serverOf(config.kubernetes.kubeconfig!)
  const firstOp = systemClock.wallMs() * 1000
  const trust = new Trust({ ...config.lab, installation, sealer: new Sealer(sealingKeys) })
  labs = (await plansOf(config, tokens, question.users)).map((plan, index) => {
    const op = firstOp + index
    const namespace = withOwnership(plan.namespace, op, null)
    const signed = question.of === 'loop' ? namespace : trust.signed(namespace)
    const objects = question.bare ? plan.objects.filter(({ kind }) => kind === 'Pod') : plan.objects
    return { user: plan.username, namespace: signed, objects, op, namespaceUid: '', podUid: '' }
  })
  return 1 + labs[0]!.objects.length
}

async function serverOf(kubeconfig: string): Promise<Server> {
  const { clusters, users } = parse(await readFile(kubeconfig, 'utf8'))
  const ca = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64')
  return {
    url: clusters[0].cluster.server,
    authorization: `Bearer ${users[0].user.token}`,
    agent: new Agent({ ca, keepAlive: true, maxSockets: loopInFlight, timeout: idleMs }),
    watchAgent: new Agent({ ca }),
  }
}

async function createAll(users: readonly string[]): Promise<void> {
  const chosen = new Set(users)
  const wanted = labs.filter(({ user }) => chosen.has(user))
  const ready = await watchUntilReady(wanted.length)
  await inParallel(wanted, async lab => {
    lab.namespaceUid = uidIn(await create(lab.namespace))
    for (const object of lab.objects) {
      const made = await create(withOwnership(object, lab.op, lab.namespaceUid))
      if (object.kind === 'Pod') lab.podUid = uidIn(made)
    }
  })
  await ready.all
}

/** Deletes the pods first, then the namespaces; waits until the cluster has none of them. */
async function deleteAll(): Promise<void> {
  await inParallel(labs, async ({ objects, namespaceUid, podUid }) => {
    const { name, namespace } = objects.at(-1)!.metadata
    await remove(objectPath({ apiVersion: 'v1', kind: 'Pod', name, namespace: namespace! }), podUid)
    await remove(objectPath({ apiVersion: 'v1', kind: 'Namespace', name: namespace! }), namespaceUid)
  })
  for (;;) {
    const left = await send('GET', `${collectionPath('v1', 'Namespace')}?limit=1&${byLabel}`)
    if (JSON.parse(left.text).items.length === 0) return
    await systemClock.sleep(pollMs)
  }
}

/** Works on as many labs at a time as requests may be in flight, each lab's requests one after another. */
async function inParallel(labs: readonly Lab[], work: (lab: Lab) => Promise<void>): Promise<void> {
  const left = labs.values()
  const worker = async () => {
    for (const lab of left) await work(lab)
  }
  await Promise.all(Array.from({ length: loopInFlight }, worker))
}

const uidIn = (text: string): string => JSON.parse(text).metadata.uid

function create(object: KubeObject): Promise<string> {
  return insist('POST', creationPath(object.apiVersion, object.kind, object.metadata.namespace), object, 201)
}

async function remove(path: string, uid: string): Promise<void> {
  await insist('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } }, 200, 202)
}

/** Repeats a refused request: a new namespace needs a moment before it admits pods. */
async function insist(method: string, path: string, body: object, ...wanted: readonly number[]): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await send(method, path, body)
    if (wanted.includes(status)) return text
    if (attempt === 100 || status === 409) throw new Error(`${method} ${path}: ${status} ${text}`)
    await systemClock.sleep(retryMs)
  }
}

function send(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  const content = body && JSON.stringify(body)
  const { url, authorization, agent } = server
  const headers = {
    authorization,
    'user-agent': loopInstallation,
    ...(content && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
  }
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers, agent }, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', chunk => {
        text += chunk
      })
      answer.once('error', reject)
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.once('error', reject)
    sent.end(content)
  })
}

/** Starts the one watch, from now on. `all` resolves when that many more pods are Ready. */
async function watchUntilReady(count: number): Promise<{ all: Promise<void> }> {
  const { url, authorization, watchAgent } = server
  const pods = `${collectionPath('v1', 'Pod')}?${byLabel}`
  const { metadata } = JSON.parse((await send('GET', `${pods}&limit=1`)).text)
  const path = `${pods}&watch=true&resourceVersion=${metadata.resourceVersion}`
  const headers = { authorization, 'user-agent': loopInstallation }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url + path, { headers, agent: watchAgent }, resolve)
      .once('error', reject)
      .end()
  })
  const ready = new Set<string>()
  const all = new Promise<void>(resolve => {
    createInterface({ input: answer }).on('line', line => {
      const { object } = JSON.parse(line) as { object: KubeObject & { status?: { conditions?: Condition[] } } }
      const isReady = object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
      if (isReady) ready.add(object.metadata.uid!)
      if (ready.size < count) return
      resolve()
      answer.destroy()
    })
  })
  return { all }
}

interface Condition {
  readonly type: string
  readonly status: string
}
