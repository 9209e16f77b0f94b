/**
 * A pretended Kubeflow in one namespace: a small definition of Notebook, and its controller, which makes a StatefulSet of each by the
 * annotation. The cluster's own controller makes the pods. No scheduler takes them: their kubelet is played here, at an address that
 * the test chooses.
 */

import { notebookCrd } from '../../../dev/kube/notebook-crd.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { notebookKind, setKind } from '../../../src/idle/notebooks/objects.ts'
import { KubeClient } from '../../../src/kube/client.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { Reflector } from '../../../src/kube/reflector.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { AdminKube } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { testBed } from '../testbed.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Where a pretended server listens. */
export interface ServerPlace {
  readonly address: string
  readonly port: number
}

const whole = (object: KubeObject) => object

export class Kubeflow {
  readonly namespace: string
  readonly kube: AdminKube
  /** Addresses of pods, by the name of a notebook or a set. */
  readonly #addresses = new Map<string, string>()
  readonly #client: KubeClient
  readonly #watches: readonly Reflector<KubeObject>[]
  readonly #underWay = new Set<Promise<void>>()

  private constructor(namespace: string, kubeconfig: string) {
    this.namespace = namespace
    this.kube = new AdminKube(kubeconfig)
    this.#client = new KubeClient({
      ...{ clock: systemClock, log: silentLogger(), version: 'test', replica: 'kubeflow' },
      kubernetes: { kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 8 },
    })
    const watch = (of: { apiVersion: string; kind: string }, handle: (object: KubeObject) => Promise<void>) => {
      const options = { ...of, namespace, project: whole, clock: systemClock, log: silentLogger() }
      const reflector = new Reflector<KubeObject>({ client: this.#client, ...options })
      reflector.on(change => {
        if (change.type === 'put') this.#begin(handle(change.value))
      })
      return reflector
    }
    this.#watches = [
      watch(notebookKind, notebook => this.#reconcile(notebook)),
      watch({ apiVersion: 'v1', kind: 'Pod' }, pod => this.#run(pod)),
    ]
  }

  /** @param labels of the namespace */
  /** @param kubeconfig of an administrator; default: that of the shared cluster */
  static async start(
    namespace: string,
    labels: Readonly<Record<string, string>> = {},
    kubeconfig = testBed().kubeconfig,
  ): Promise<Kubeflow> {
    const kubeflow = new Kubeflow(namespace, kubeconfig)
    const { status, body } = await kubeflow.kube.request('POST', crds, notebookCrd)
    if (status !== 201 && status !== 409) throw new Error(`the definition of Notebook: ${status} ${body.message}`)
    const path = creationPath(notebookKind.apiVersion, notebookKind.kind, namespace)
    await eventually('Notebooks are served', async () => (await kubeflow.kube.request('GET', path)).status === 200)
    await kubeflow.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
    for (const watch of kubeflow.#watches) watch.start()
    return kubeflow
  }

  /** Makes a notebook whose server is there. */
  notebook(name: string, { address, port }: ServerPlace): Promise<KubeObject> {
    this.#addresses.set(name, address)
    const metadata = { name, namespace: this.namespace }
    return this.kube.create({ ...notebookKind, metadata, spec: { template: templateOf(name, port) } })
  }

  /** Makes a StatefulSet of its own. */
  set(name: string, { address, port }: ServerPlace, labels = {}): Promise<KubeObject> {
    this.#addresses.set(name, address)
    const set = setOf(this.namespace, name, 1, templateOf(name, port))
    return this.kube.create({ ...set, metadata: { ...set.metadata, labels } })
  }

  /** The object as it is; null without one. */
  async get(kind: 'Notebook' | 'StatefulSet', name: string): Promise<KubeObject | null> {
    const { status, body } = await this.kube.request('GET', this.#path(kind, name))
    if (status !== 200 && status !== 404) throw new Error(`${kind} ${name}: ${status} ${body.message}`)
    return status === 404 ? null : body
  }

  async annotations(kind: 'Notebook' | 'StatefulSet', name: string): Promise<Readonly<Record<string, string>>> {
    return (await this.get(kind, name))?.metadata.annotations ?? {}
  }

  /** As a person does; `null` removes one. */
  async annotate(kind: 'Notebook' | 'StatefulSet', name: string, annotations: object): Promise<void> {
    const { status, body } = await this.kube.request('PATCH', this.#path(kind, name), { metadata: { annotations } })
    if (status !== 200) throw new Error(`${kind} ${name}: ${status} ${body.message}`)
  }

  /** UID of the pod of a notebook or a set that runs; undefined without one. */
  async podUid(name: string): Promise<string | undefined> {
    const pod = await this.kube.get('Pod', `${name}-0`, this.namespace)
    return pod?.status?.phase === 'Running' && !pod.metadata.deletionTimestamp ? pod.metadata.uid : undefined
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map(watch => watch.stop()))
    await Promise.all(this.#underWay)
    await this.kube.delete('Namespace', this.namespace)
    await this.#client.close()
    this.kube.close()
  }

  #path(kind: 'Notebook' | 'StatefulSet', name: string): string {
    return objectPath({ ...(kind === 'Notebook' ? notebookKind : setKind), namespace: this.namespace, name })
  }

  #begin(work: Promise<void>): void {
    const guarded = work.catch(() => {}).finally(() => this.#underWay.delete(guarded))
    this.#underWay.add(guarded)
  }

  /** As Kubeflow's controller with its own culling switched off. */
  async #reconcile({ metadata, spec }: KubeObject): Promise<void> {
    const { name, uid, annotations = {} } = metadata
    const replicas = stamps.stopped in annotations ? 0 : 1
    const owner = { ...notebookKind, name, uid: uid!, controller: true, blockOwnerDeletion: true }
    const made = setOf(this.namespace, name, replicas, (spec as { template: object }).template)
    const object = { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } }
    const { status } = await this.kube.request('POST', this.#path('StatefulSet', 'x').replace(/\/x$/, ''), object)
    if (status === 409) await this.kube.request('PATCH', this.#path('StatefulSet', name), { spec: { replicas } })
  }

  async #run({ metadata: { name, deletionTimestamp }, status }: KubeObject): Promise<void> {
    const podIP = this.#addresses.get(name.replace(/-0$/, ''))
    const { phase } = status as { phase?: string }
    if (!podIP || phase !== 'Pending' || deletionTimestamp) return
    const now = new Date().toISOString().replace(/\.\d+/, '')
    await this.kube.patch('Pod', name, this.namespace, { status: runningAt(podIP, now) }, 'status')
  }
}

const runningAt = (podIP: string, now: string) => ({
  ...{ phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime: now },
  conditions: ['Initialized', 'ContainersReady', 'Ready'].map(type => ({
    type,
    status: 'True',
    lastTransitionTime: now,
  })),
})

const templateOf = (name: string, containerPort: number) => ({
  metadata: { labels: { statefulset: name, 'notebook-name': name } },
  spec: { schedulerName: 'nobody', containers: [{ name, image: 'jupyter:1', ports: [{ containerPort }] }] },
})

const setOf = (namespace: string, name: string, replicas: number, template: object) => ({
  ...setKind,
  metadata: { name, namespace },
  spec: { replicas, serviceName: name, selector: { matchLabels: { statefulset: name } }, template },
})
