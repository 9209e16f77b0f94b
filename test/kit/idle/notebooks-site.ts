/**
 * A cluster of its own with Notebooks, StatefulSets that may be stopped, and the account and policy of k8s/components/notebooks.
 * Tests take rules of the policy away.
 */
import type { Cluster } from '../../../dev/cluster/types.ts'
import { notebookCrd } from '../../../dev/kube/notebook-crd.ts'
import { notebooksAccount, notebooksManifests } from '../../../dev/kube/notebooks.ts'
import type { Run } from '../../../dev/run/run.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { notebookKind, setKind } from '../../../src/idle/notebooks/objects.ts'
import { stamps } from '../../../src/kube/labels.ts'
import { AdminKube, type KubeAnswer } from '../cluster/kube.ts'
import { boxNamespace, type OwnBox, startOwnBox } from '../cluster/own-box.ts'
import { eventually } from '../cluster/world.ts'

/** The namespace of people. */
export const team = 'team'
export const account = `system:serviceaccount:${boxNamespace}:${notebooksAccount}`

const groups = { Notebook: notebookKind.apiVersion, StatefulSet: setKind.apiVersion } as const
const plurals = { Notebook: 'notebooks', StatefulSet: 'statefulsets' } as const
export type WorkloadKind = keyof typeof groups

/** Path of a kind in the namespace of people, or of one object. */
export const pathOf = (kind: WorkloadKind, name?: string): string =>
  `/apis/${groups[kind]}/namespaces/${team}/${plurals[kind]}${name === undefined ? '' : `/${name}`}`

const podSpec = { containers: [{ name: 'main', image: 'example.org/notebook:1' }] }

export const notebook = (name: string, metadata: object = {}, spec: object = {}): KubeObject => ({
  ...{ apiVersion: groups.Notebook, kind: 'Notebook', metadata: { name, namespace: team, ...metadata } },
  spec: { template: { spec: podSpec }, ...spec },
})

export const statefulSet = (name: string, metadata: object = {}, spec: object = {}): KubeObject => ({
  ...{ apiVersion: groups.StatefulSet, kind: 'StatefulSet', metadata: { name, namespace: team, ...metadata } },
  spec: {
    ...{ serviceName: name, selector: { matchLabels: { set: name } } },
    template: { metadata: { labels: { set: name } }, spec: podSpec },
    ...spec,
  },
})

export class NotebooksSite {
  /** The administrator. */
  readonly kube: AdminKube
  readonly #run: Run
  readonly #cluster: Cluster

  private constructor(run: Run, cluster: Cluster) {
    this.#run = run
    this.#cluster = cluster
    this.kube = new AdminKube(cluster.kubeconfig)
  }

  /** Starts the cluster; resolves when the policy is enforced. */
  static start(objects: readonly KubeObject[] = [], { audit = false } = {}): Promise<NotebooksSite> {
    const prepare = async ({ run, cluster }: OwnBox) => {
      const site = new NotebooksSite(run, cluster)
      await cluster.apply(JSON.stringify(notebookCrd))
      await cluster.apply(await notebooksManifests())
      await site.must('POST', '/api/v1/namespaces', { metadata: { name: team } })
      await eventually(
        'the kind Notebook',
        async () => (await site.kube.request('GET', pathOf('Notebook'))).status === 200,
      )
      for (const object of objects) await site.must('POST', pathOf(object.kind as WorkloadKind), object)
      await site.#enforced()
      return site
    }
    return startOwnBox(prepare, { audit })
  }

  /** The folder of its run. */
  get stateDir(): string {
    return this.#run.stateDir
  }

  get auditLog(): string | null {
    return this.#cluster.auditLog
  }

  kubeconfigOfAccount(): Promise<string> {
    return this.#cluster.tokenKubeconfig(boxNamespace, notebooksAccount)
  }

  /** Somebody with a token of the account. */
  async thief(): Promise<AdminKube> {
    return new AdminKube(await this.kubeconfigOfAccount())
  }

  /** Makes a StatefulSet, and plays the kubelet of its first pod: the cluster has no node. */
  async startSet(name: string, metadata: object, podIP: string): Promise<void> {
    await this.must('POST', pathOf('StatefulSet'), statefulSet(name, metadata))
    await this.runPod(name, podIP)
  }

  /** Resolves when the first pod of a StatefulSet is Ready, at this address. */
  async runPod(set: string, podIP: string): Promise<void> {
    const pod = `${set}-0`
    const isPending = async () => {
      const found = await this.kube.get('Pod', pod, team)
      return found?.status?.phase === 'Pending' && !found.metadata.deletionTimestamp
    }
    await eventually(`the pod of ${set}`, isPending)
    const startTime = new Date().toISOString()
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }]
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime, conditions }
    await this.kube.patch('Pod', pod, team, { status }, 'status')
  }

  /** The account with all rights, as if somebody had granted too much. */
  asAccountWithAllRights(method: string, path: string, body?: object): Promise<KubeAnswer> {
    const as = { 'Impersonate-User': account, 'Impersonate-Group': ['system:masters'] }
    return this.kube.request(method, path, body, as)
  }

  /** As the administrator. @throws when it is refused */
  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  async close(): Promise<void> {
    this.kube.close()
    await this.#run.close()
  }

  async #enforced(): Promise<void> {
    const probe = notebook('probe', { annotations: { [stamps.stopped]: 'no time' } })
    await eventually('the policy', async () => {
      const { body } = await this.asAccountWithAllRights('POST', `${pathOf('Notebook')}?dryRun=All`, probe)
      return body.message?.includes(`'${notebooksAccount}'`)
    })
  }
}
