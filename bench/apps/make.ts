/** Makes many apps at once, by the replicas or by a bare loop that writes the same; both until every Deployment is available. */

import { renderApp } from '../../src/apps/render.ts'
import { readApp } from '../../src/apps/spec.ts'
import { appParent } from '../../src/apps/words.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { creationPath, objectPath } from '../../src/kube/kinds.ts'
import { factOf } from '../../src/reconcile/facts.ts'
import { refOf } from '../../src/reconcile/plan.ts'
import { application } from '../../test/kit/apps/objects.ts'
import type { AdminKube } from '../../test/kit/cluster/kube.ts'
import { untilDone } from '../measure/watch.ts'
import { group, type Site } from './site.ts'

/** Requests of a maker on their way at once, as in the bench `tenants`. */
export const lanes = 32

export interface Made {
  /** From the first request until all are Ready. */
  readonly seconds: number
}

export const nameOf = (index: number): string => `app-${String(index).padStart(4, '0')}`

/** Declares the apps; the replicas do the rest. @param onReady called with the number of apps that are Ready so far */
export async function makeBySkylab(site: Site, count: number, onReady: (count: number) => void): Promise<Made> {
  const begunMs = systemClock.monotonicMs()
  const path = creationPath(appParent.apiVersion, appParent.kind, group)
  const onDone = (_: KubeObject, done: number) => onReady(done)
  await untilDone({ ...watched(site), path, count, isDone: isReady, onDone }, () =>
    inLanes(count, async index => {
      await post(site.kube, application(group, nameOf(index)))
    }),
  )
  return { seconds: (systemClock.monotonicMs() - begunMs) / 1000 }
}

/** Writes the same objects by the same account, and a status twice: when they are made, and when the Deployment is available. */
export async function makeByLoop(site: Site, count: number): Promise<Made> {
  const { kube, account, settings } = site
  const begunMs = systemClock.monotonicMs()
  const say = async (name: string, phase: string) => {
    const path = `${objectPath({ ...appParent, namespace: group, name })}/status`
    const { status, body } = await account.request('PATCH', path, { status: { phase } })
    if (status !== 200) throw new Error(`${path}: ${status} ${body.message}`)
  }
  const said: Promise<void>[] = []
  const path = creationPath('apps/v1', 'Deployment', group)
  const onDone = ({ metadata: { name } }: KubeObject) => {
    const ready = say(name.replace(/^app-/, ''), 'Ready')
    // Awaited in the end: an earlier rejection is thrown there.
    ready.catch(() => {})
    said.push(ready)
  }
  const makeOne = async (index: number) => {
    const app = await post(kube, application(group, nameOf(index)))
    const fact = factOf(app, [['spec'], ['metadata', 'generation'], ['metadata', 'creationTimestamp']])
    const groups = [{ name: group, volumes: [], quota: {}, isAlone: true }]
    const { spec } = readApp(fact, settings, { groups, isTaken: false })
    const objects = renderApp(fact, spec!, settings, false).objects
    for (const { object } of objects) await post(account, object)
    await say(app.metadata.name, 'Starting')
  }
  await untilDone({ ...watched(site), path, count, isDone: isAvailable, onDone }, () => inLanes(count, makeOne))
  await Promise.all(said)
  return { seconds: (systemClock.monotonicMs() - begunMs) / 1000 }
}

const watched = ({ cluster, options }: Site) => ({ kubeconfig: cluster.kubeconfig, signal: options.signal })

const isReady = ({ status }: KubeObject) => (status as { phase?: string } | undefined)?.phase === 'Ready'
const isAvailable = ({ status }: KubeObject) =>
  ((status as { availableReplicas?: number } | undefined)?.availableReplicas ?? 0) > 0

/** Objects of a kind that more than one write has made: by name, all that are not as many as apps. */
export async function duplicates({ kube }: Site, count: number): Promise<number> {
  const pods = await kube.list(`/api/v1/namespaces/${group}/pods`, 'app=primehub-app')
  const sets = await kube.list(`/apis/apps/v1/namespaces/${group}/replicasets`)
  const deployments = await kube.list(`/apis/apps/v1/namespaces/${group}/deployments`)
  const changed = deployments.filter(({ metadata }) => metadata.generation !== 1).length
  return pods.length - count + (sets.length - count) + (deployments.length - count) + changed
}

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: count }, (_, index) => index).values()
  const lane = async () => {
    for (const index of left) await work(index)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function post(kube: AdminKube, object: KubeObject): Promise<KubeObject> {
  const { apiVersion, kind, namespace } = refOf(object)
  const path = creationPath(apiVersion, kind, namespace)
  const { status, body } = await kube.request('POST', path, object)
  if (status !== 201) throw new Error(`${path}: ${status} ${body.message}`)
  return body
}
