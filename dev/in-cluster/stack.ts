/** Installs the controller as an operator does: the overlay `demo` on a cluster with a real node, with Redis and DNS. */
import { chown, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { clusterNeeds, startCluster } from '../cluster/cluster.ts'
import type { Cluster, ClusterChoice } from '../cluster/types.ts'
import { type ControllerImage, controllerImage } from '../image/controller.ts'
import { labImage } from '../image/lab.ts'
import { dnsServiceIp, nodeName } from '../kube/credentials.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { kustomize } from '../kube/kustomize.ts'
import { notebookCrd } from '../kube/notebook-crd.ts'
import type { Progress } from '../process/progress.ts'
import { whyNoNodeNow } from '../run/claim.ts'
import { type Need, setup, type Tools } from '../setup/setup.ts'
import { type DemoUsers, makeUsers } from '../stack/config.ts'
import { provideImage } from '../stack/image.ts'
import { type PodCloud, startPodCloud } from './cloud.ts'
import { type ImageReferences, pushImages } from './images.ts'
import { makeCertificates, type OverlayPlan, placeLabs, writeOverlay } from './overlay.ts'
import { startPodRegistry } from './registry.ts'

/** User id of the pods of Redis (component redis). */
export const redisUser = 999

/** A cluster of the box with a real node, and with DNS for pods. */
export const inClusterChoice = (kwok: number): ClusterChoice => ({ realNode: 'auto', kwok, audit: true, names: true })

export interface Prepared {
  readonly tools: Tools
  readonly image: ControllerImage
}

/**
 * Prepares programs, packages and images. Throws, in words for a person, when no real node is possible.
 * @param more what the caller needs beside them
 */
export async function prepareInCluster(
  progress: Progress,
  signal?: AbortSignal,
  more: readonly Need[] = [],
): Promise<Prepared> {
  const reason = whyNoNodeNow()
  if (reason) throw new Error(`There is no node for the controller's pods: ${reason}`)
  const needs: Need[] = [...clusterNeeds(inClusterChoice(0)), 'redis', 'kubectl', 'names', 'image', 'builder', ...more]
  const tools = await setup(needs, progress, signal)
  await labImage(progress, signal)
  return { tools, image: await controllerImage(progress, signal) }
}

export interface InClusterOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly prepared: Prepared
  /** Number of users with tokens; at least three are made. */
  readonly users: number
  /** Number of nodes of KWOK beside the real one. */
  readonly kwok: number
  /** Whether the component tenants is installed too. */
  readonly tenants: boolean
  /** Whether the component notebooks is. */
  readonly notebooks: boolean
  /** Whether the components apps and gateway are. */
  readonly apps: boolean
  /** Whether the component dispatch is, with a cloud that its pods reach. */
  readonly dispatch: boolean
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

export interface InCluster {
  readonly cluster: Cluster
  readonly kubectl: Kubectl
  /** The Service, by its address in the cluster, which this machine can reach. */
  readonly url: string
  /** URL with the password. */
  readonly redisUrl: string
  /** PEM of the authority that signed both certificates. */
  readonly authority: string
  readonly users: DemoUsers
  readonly images: ImageReferences
  /** The labs' image, as pods of the real node may name it. */
  readonly labImage: string
  /** The cloud of the component dispatch; null without it. */
  readonly podCloud: PodCloud | null
  /** Changes the configuration, which replaces the replicas; resolves when the new ones are ready. */
  sendLabsTo(nodes: 'real' | 'kwok'): Promise<void>
}

/**
 * Starts all parts; resolves when every replica is ready. When `signal` or a failure interrupts it, the run ends its parts, and
 * the end of this process those of the cloud.
 */
export async function startInCluster(options: InClusterOptions): Promise<InCluster> {
  const { stateDir, prepared, progress, signal, kwok } = options
  const { tools } = prepared
  const cluster = await startCluster({ ...inClusterChoice(kwok), stateDir, tools, progress, signal })
  if (cluster.registry === null) throw new Error("There is no node for the controller's pods")
  const kubectl = createKubectl(tools, cluster.kubeconfig, cluster.stateDir)
  const users = makeUsers(options.users)
  const clusterDir = cluster.stateDir
  const podCloud = options.dispatch
    ? await progress.part('cloud', () => startPodCloud({ stateDir, clusterDir, tools, signal }))
    : null
  const dispatch = podCloud ?? undefined
  const plan = await progress.part('images into the registry', async () => ({
    ...(await planOverlay(options, cluster, users)),
    dispatch,
  }))
  await progress.part('names', () => startNames(kubectl, plan.images.coredns))
  const { folder, redisPassword } = await writeOverlay(plan)
  const { authority } = plan.certificates
  // For all later requests of this process.
  setDefaultCACertificates([...getCACertificates('default'), authority])
  const apply = async () => {
    await cluster.apply(await kustomize(tools.program('kubectl'), folder, signal))
    await rolledOut(kubectl, 'statefulset/skylab-redis')
    await rolledOut(kubectl, 'deployment/skylab')
    if (plan.tenants) await rolledOut(kubectl, 'deployment/skylab-tenants')
    if (plan.notebooks) await rolledOut(kubectl, 'deployment/skylab-notebooks')
    if (plan.apps) await appsRolledOut(kubectl)
    if (plan.dispatch) await rolledOut(kubectl, 'deployment/skylab-dispatch')
  }
  await progress.part('overlay demo, until its replicas are ready', async () => {
    await provideVolume(cluster, stateDir)
    // Its replicas are not ready without the definition, which Kubeflow brings elsewhere.
    if (plan.notebooks) await cluster.apply(JSON.stringify(notebookCrd))
    await apply()
  })
  const url = `https://${await addressOf(kubectl, 'skylab')}:8080`
  const redisUrl = `rediss://looker:${redisPassword}@${await addressOf(kubectl, 'skylab-redis')}:6379`
  const sendLabsTo = async (nodes: 'real' | 'kwok') => {
    await placeLabs(plan, nodes)
    await apply()
  }
  const { docker, recommendedTag = 'recommended' } = plan.labs
  const labImage = `${cluster.registry}/${docker!.repository}:${recommendedTag}`
  return { cluster, kubectl, url, redisUrl, authority, users, images: plan.images, labImage, podCloud, sendLabsTo }
}

async function planOverlay(options: InClusterOptions, cluster: Cluster, users: DemoUsers): Promise<OverlayPlan> {
  const { stateDir, prepared, tenants, notebooks, apps, progress, signal } = options
  const { tools, image } = prepared
  const [certificates, registry, images, labs] = await Promise.all([
    makeCertificates(join(stateDir, 'certificates')),
    startPodRegistry(cluster.stateDir, tools, signal),
    pushImages({
      registry: cluster.registry!,
      controller: image.layout,
      folder: join(stateDir, 'images'),
      tools,
      signal,
    }),
    provideImage({ cluster, labsOnKwok: false, stateDir, progress, signal }),
  ])
  const { docker, recommendedTag } = labs
  return {
    folder: join(stateDir, 'overlay'),
    images,
    registry,
    labs: { docker, recommendedTag },
    users,
    certificates,
    tenants,
    notebooks,
    apps,
  }
}

/** Starts the cluster's DNS with this image of CoreDNS. */
export async function startNames(kubectl: Kubectl, image: string): Promise<void> {
  const manifests = await readFile(new URL('coredns.yaml', import.meta.url), 'utf8')
  const input = manifests.replace('COREDNS_IMAGE', image).replace('DNS_ADDRESS', dnsServiceIp)
  await kubectl(['apply', '--server-side', '-f', '-'], { input })
  await rolledOut(kubectl, 'deployment/coredns', 'kube-system')
}

/** A volume for Redis in a folder of this run: this cluster has no provisioner. */
async function provideVolume(cluster: Cluster, stateDir: string): Promise<void> {
  const path = join(stateDir, 'redis-data')
  await mkdir(path, { mode: 0o700 })
  await chown(path, redisUser, redisUser)
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'skylab-redis' },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: '',
      hostPath: { path, type: 'Directory' },
      claimRef: { namespace: 'skylab', name: 'data-skylab-redis-0' },
    },
  }
  await cluster.apply(JSON.stringify(volume))
}

/** Fails with kubectl's message when that takes too long. */
export async function rolledOut(kubectl: Kubectl, what: string, namespace = 'skylab'): Promise<void> {
  await kubectl(['rollout', 'status', what, '-n', namespace, '--timeout=180s'])
}

/** Gateways are ready once the controllers have written a table of routes. Their number is that of the autoscaler. */
async function appsRolledOut(kubectl: Kubectl): Promise<void> {
  await rolledOut(kubectl, 'deployment/skylab-apps')
  const two = '--for=jsonpath={.status.readyReplicas}=2'
  await kubectl(['wait', two, 'deployment/skylab-gateway', '-n', 'skylab', '--timeout=180s'])
}

async function addressOf(kubectl: Kubectl, service: string): Promise<string> {
  return (await kubectl(['get', 'service', service, '-n', 'skylab', '-o', 'jsonpath={.spec.clusterIP}'])).trim()
}

/** A pod of the installation that runs and is ready. */
export interface PlacedPod {
  readonly name: string
  readonly node: string
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
    readonly spec: { readonly nodeName?: string }
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  }[]
}

/** Pods of replicas, Redis and CoreDNS. Fails when one of them is not ready, or not on the real node. */
export async function placedPods(kubectl: Kubectl): Promise<PlacedPod[]> {
  const lists = await Promise.all(
    ['skylab', 'kube-system'].map(async namespace => {
      // Pods that pull images come and go.
      const select = ['-l', 'app.kubernetes.io/component!=prepull']
      const { items }: PodList = JSON.parse(await kubectl(['get', 'pods', '-n', namespace, ...select, '-o', 'json']))
      return items.filter(({ metadata }) => !metadata.deletionTimestamp)
    }),
  )
  return lists.flat().map(({ metadata, spec, status }) => {
    const isReady = status.conditions?.some(each => each.type === 'Ready' && each.status === 'True')
    if (!isReady) throw new Error(`${metadata.name} is not ready`)
    if (spec.nodeName !== nodeName)
      throw new Error(`${metadata.name} is on ${spec.nodeName}, which is not the real node`)
    return { name: metadata.name, node: spec.nodeName }
  })
}
