/** For tests of prepulling: nodes whose kubelet is the test, and replicas that only prepull. */
import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { failpoint } from '../../../src/base/failpoint.ts'
import { type Config, configSchema } from '../../../src/config/schema.ts'
import type { Catalogue, CatalogueImage, PrepullState, PrepullStatus } from '../../../src/images/catalogue/types.ts'
import { Prepuller } from '../../../src/images/prepull/prepuller.ts'
import { prepullLabel, projectPullPod, projectPullSet } from '../../../src/images/prepull/pull-set.ts'
import { PrepullWatches } from '../../../src/images/prepull/watches.ts'
import { KubeClient } from '../../../src/kube/client.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { PrepullStore } from '../../../src/store/prepulls.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { grantInstallation, revokeInstallation } from '../cluster/installation.ts'
import { AdminKube } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { catalogueOf } from '../images/cluster.ts'
import { Store } from '../store/store.ts'
import { testBed } from '../testbed.ts'

/** The controller's own namespace, for which it has rights. */
const namespace = 'skylab'
const place = 'skylab-test/prepull'
/** A node counts as dead after 40 s without a heartbeat. */
const beatMs = 10_000
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

const running = () => ({ state: { running: { startedAt: new Date().toISOString() } }, imageID: 'x' })

export interface TestNode {
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly object[]
  readonly cordoned?: boolean
  /** KWOK runs the node: its pods run at once. */
  readonly kwok?: boolean
  /** Names of each image on the node. */
  readonly images?: readonly (readonly string[])[]
}

/** Keeps labs and pulls of an installation on its own nodes. */
export const placement = (installation: string) =>
  ({
    nodeSelector: { [place]: installation },
    tolerations: [{ key: place, operator: 'Exists' }],
  }) satisfies ConfigInput['lab']

/** An installation that prepulls onto nodes of its own. */
export class PrepullSite {
  readonly installation: string
  readonly kube = new AdminKube(testBed().kubeconfig)
  readonly config: Config
  catalogue: Catalogue | null = null
  readonly #redis: Redis | null
  readonly #nodes = new Set<string>()
  /** Nodes with a lease that the test keeps. KWOK leaves nodes alone whose lease another holds. */
  readonly #beating = new Set<string>()
  readonly #replicas: PrepullReplica[] = []
  readonly #beats: NodeJS.Timeout
  /** The rights of replicas outside a fleet. */
  #granted: Promise<void> | undefined

  /** @param redis of its replicas; null if they belong to a fleet */
  constructor(redis: Redis | null, prepull: object = {}, installation = `p${randomBytes(4).toString('hex')}`) {
    this.installation = installation
    this.#redis = redis
    this.config = configSchema.parse({
      installation: this.installation,
      images: { registry: 'registry.example.org', docker: { repository: 'some/lab' }, prepull },
      lab: placement(installation),
      engine: { leaseTtlMs: 3000, scanIntervalMs: 300 },
    })
    this.#beats = setInterval(() => void this.#beat().catch(() => {}), beatMs)
  }

  get #rights() {
    return { installation: this.installation, lab: placement(this.installation) }
  }

  /** The short name is the test's, the long one the cluster's. */
  name(node: string): string {
    return `${this.installation}-${node}`
  }

  wants(...images: CatalogueImage[]): void {
    this.catalogue = catalogueOf(...images)
    for (const { prepuller } of this.#replicas) prepuller.wake()
  }

  async addNode(node: string, shape: TestNode = {}): Promise<void> {
    const { labels = { [place]: this.installation }, taints = [], cordoned, kwok } = shape
    const name = this.name(node)
    this.#nodes.add(name)
    await this.kube.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels, ...(kwok && { annotations: { 'kwok.x-k8s.io/node': 'fake' } }) },
      spec: { taints: [{ key: place, effect: 'NoSchedule' }, ...taints], unschedulable: cordoned === true },
    })
    if (!kwok) {
      this.#beating.add(name)
      await this.#beatOf(name)
    }
    const room = { cpu: '4', memory: '8Gi', pods: '100' }
    if (!kwok) await this.reportNode(node, { conditions: conditions(), allocatable: room, capacity: room })
    if (shape.images) await this.listImages(node, shape.images)
  }

  listImages(node: string, images: readonly (readonly string[])[]): Promise<void> {
    return this.reportNode(node, { images: images.map(names => ({ names, sizeBytes: 1000 })) })
  }

  /** Sets the disk pressure that a kubelet reports; the cluster's own controller adds the taint. */
  reportDisk(node: string, { full }: { readonly full: boolean }): Promise<void> {
    return this.reportNode(node, { conditions: conditions(full) })
  }

  async reportNode(node: string, status: object): Promise<void> {
    await this.kube.patch('Node', this.name(node), undefined, { status }, 'status')
  }

  async removeNode(node: string): Promise<void> {
    this.#nodes.delete(this.name(node))
    this.#beating.delete(this.name(node))
    await this.kube.delete('Node', this.name(node))
  }

  /** Starts a replica. It prepulls, or waits for its turn. */
  async replica(): Promise<PrepullReplica> {
    const replica = await this.#newReplica(this.installation)
    replica.prepuller.start()
    return replica
  }

  /** Starts two replicas at the same moment, each with records and a lease of its own. */
  async replicasApart(): Promise<readonly [PrepullReplica, PrepullReplica]> {
    const [one, two] = await Promise.all(['one', 'two'].map(name => this.#newReplica(`${this.installation}-${name}`)))
    await Promise.all([one!.status(), two!.status()])
    for (const { prepuller } of [one!, two!]) prepuller.start()
    return [one!, two!]
  }

  async #newReplica(keyPrefix: string): Promise<PrepullReplica> {
    if (!this.#redis) throw new Error('the replicas of this installation are a fleet’s')
    this.#granted ??= grantInstallation(this.kube, this.#rights)
    await this.#granted
    const store = await Store.open(this.#redis, keyPrefix)
    const replica = new PrepullReplica(this, store, `replica-${this.#replicas.length + 1}`)
    this.#replicas.push(replica)
    return replica
  }

  /** DaemonSets that are not being deleted. */
  async sets(): Promise<readonly KubeObject[]> {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`
    const sets = await this.kube.list(path, `${prepullLabel}=${this.installation}`)
    return sets.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  pods(): Promise<readonly KubeObject[]> {
    return this.kube.list(`/api/v1/namespaces/${namespace}/pods`, `${prepullLabel}=${this.installation}`)
  }

  async removeSet({ metadata }: KubeObject): Promise<void> {
    await this.kube.delete('DaemonSet', metadata.name, namespace)
  }

  /** Waits for the pod that pulls an image onto a node, and sets the status that its kubelet would report. */
  async reportPod(tag: string, node: string, container: object, status: object = {}): Promise<void> {
    await eventually(`a pod for ${tag} on ${node}`, () => this.reportNow(tag, node, container, status))
  }

  /** @returns whether there is such a pod */
  async reportNow(tag: string, node: string, container: object, status: object = {}): Promise<boolean> {
    const sets = (await this.sets()).map(projectPullSet).filter(({ image }) => image.includes(`:${tag}`))
    const pod = (await this.pods()).find(each => {
      const facts = projectPullPod(each)
      return facts?.node === this.name(node) && sets.some(({ uid }) => uid === facts.setUid)
    })
    if (!pod) return false
    await this.#reportPod(pod, container, status)
    return true
  }

  /** Finishes the pulls of all waiting pods. */
  async pullAll(): Promise<void> {
    const waiting = (await this.pods()).filter(pod => projectPullPod(pod)?.state === 'pulling')
    // A pod that is removed meanwhile needs no status.
    await Promise.all(waiting.map(pod => this.#reportPod(pod, running()).catch(() => {})))
  }

  async #reportPod({ metadata }: KubeObject, container: object, status: object = {}): Promise<void> {
    const containerStatuses = [{ name: 'pull', image: 'x', imageID: '', ready: false, restartCount: 0, ...container }]
    await this.kube.patch('Pod', metadata.name, namespace, { status: { containerStatuses, ...status } }, 'status')
  }

  pulls(tag: string, node: string): Promise<void> {
    return this.reportPod(tag, node, running())
  }

  fails(tag: string, node: string, message: string, reason = 'ErrImagePull'): Promise<void> {
    return this.reportPod(tag, node, { state: { waiting: { reason, message } } })
  }

  async close(): Promise<void> {
    clearInterval(this.#beats)
    await Promise.all(this.#replicas.map(replica => replica.stop()))
    await Promise.all((await this.sets()).map(set => this.removeSet(set)))
    await Promise.all([...this.#nodes].map(name => this.kube.delete('Node', name)))
    if (this.#granted) await revokeInstallation(this.kube, this.#rights)
    this.kube.close()
  }

  async #beat(): Promise<void> {
    await Promise.all([...this.#beating].map(name => this.#beatOf(name)))
  }

  async #beatOf(name: string): Promise<void> {
    const renewTime = new Date().toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
    const metadata = { name, namespace: 'kube-node-lease' }
    const { status } = await this.kube.request('PATCH', `${leases}/${name}`, { spec })
    if (status !== 404) return
    await this.kube.request('POST', leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
  }
}

function conditions(diskIsFull = false): object[] {
  const common = { reason: 'Test', lastHeartbeatTime: new Date().toISOString() }
  return [
    { ...common, type: 'Ready', status: 'True' },
    { ...common, type: 'DiskPressure', status: diskIsFull ? 'True' : 'False' },
  ]
}

/** The prepulling part of a replica, with the rights of a whole one. */
export class PrepullReplica {
  readonly prepuller: Prepuller
  readonly store: Store
  readonly #site: PrepullSite
  readonly #kube: KubeClient
  readonly #watches: PrepullWatches
  readonly #leases: Leases
  #stopped: Promise<void> | undefined

  constructor(site: PrepullSite, store: Store, name: string) {
    const { config } = site
    const { connection, keys, owners, tasks } = store
    const common = { clock: systemClock, log: silentLogger() }
    const kubernetes = { ...config.kubernetes, kubeconfig: testBed().controllerKubeconfig }
    this.#site = site
    this.store = store
    this.#kube = new KubeClient({ ...common, kubernetes, version: 'test', replica: name })
    this.#watches = new PrepullWatches({ ...common, client: this.#kube, installation: site.installation, namespace })
    this.#leases = new Leases({
      redis: connection.commands,
      owners,
      tasks,
      keyOf: user => keys.lease(user),
      clock: systemClock,
      ttlMs: config.engine.leaseTtlMs,
    })
    this.prepuller = new Prepuller({
      ...common,
      config,
      namespace,
      view: this.#watches,
      kube: this.#kube,
      leases: this.#leases,
      store: new PrepullStore(connection, keys),
      catalogue: async () => site.catalogue,
      metrics: createMetrics(new Registry()),
      failpoint,
    })
    this.#watches.start()
  }

  /** Its report for an administrator, without the nodes of other tests. */
  async status(): Promise<PrepullStatus> {
    await this.#watches.whenReady(AbortSignal.timeout(10_000))
    const { prepulled, pending, nodes } = await this.prepuller.status(this.#site.catalogue!)
    const isOurs = (name: string) => name.startsWith(this.#site.name(''))
    const ofOurs = (states: readonly PrepullState[]) =>
      states.map(state => ({ ...state, nodes: state.nodes.filter(isOurs) }))
    return {
      prepulled: ofOurs(prepulled),
      pending: ofOurs(pending),
      nodes: nodes.filter(({ name }) => isOurs(name)),
    }
  }

  /** Prepulled tags, and pending tags with the nodes that lack them. */
  async summary(): Promise<{ prepulled: string[]; pending: Record<string, string[]> }> {
    const { prepulled, pending } = await this.status()
    const short = (name: string) => name.slice(this.#site.installation.length + 1)
    const missing = pending.map(({ image, missing }): [string, string[]] => [image.tag, missing.map(short)])
    return { prepulled: prepulled.map(({ image }) => image.tag), pending: Object.fromEntries(missing) }
  }

  /** Ends like a killed process: it returns no lease. */
  kill(): Promise<void> {
    this.store.close()
    return this.stop()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await this.prepuller.stop()
    await this.#leases.close()
    await this.#watches.stop()
    await this.#kube.close()
    this.store.close()
  }
}
