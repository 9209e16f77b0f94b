/** A cluster with a real node for apps: their images, names for pods, and the volume of the group. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { groupMark } from '../../src/apps/words.ts'
import { clusterNeeds, startCluster } from '../cluster/cluster.ts'
import type { Cluster } from '../cluster/types.ts'
import { splitName } from '../image/layout.ts'
import { pushLayout } from '../image/push.ts'
import { pushNames } from '../in-cluster/images.ts'
import { startNames } from '../in-cluster/stack.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { mirrorRegistry } from '../node/runtime.ts'
import type { Progress } from '../process/progress.ts'
import { whyNoNodeNow } from '../run/claim.ts'
import { setup, type Tools } from '../setup/setup.ts'
import { buildAppImages } from './image/images.ts'
import { groupNamespace } from './people.ts'

const choice = { realNode: 'auto', kwok: 0, audit: false, names: true } as const
const noNode = 'There is no node for apps'

export interface Prepared {
  readonly tools: Tools
  /** OCI layouts by the name under which pods ask for the image. */
  readonly images: ReadonlyMap<string, string>
}

/** Installs programs and packages, and builds the images. Throws, in words for a person, when no real node is possible. */
export async function prepareApps(progress: Progress, signal?: AbortSignal): Promise<Prepared> {
  const reason = whyNoNodeNow()
  if (reason) throw new Error(`${noNode}: ${reason}`)
  const needs = [...clusterNeeds(choice), 'redis', 'balancer', 'kubectl', 'names', 'browser', 'image'] as const
  const tools = await setup([...needs], progress, signal)
  return { tools, images: await buildAppImages(progress, signal) }
}

export interface AppsClusterOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly prepared: Prepared
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

export async function startAppsCluster(options: AppsClusterOptions): Promise<Cluster> {
  const { stateDir, prepared, progress, signal } = options
  const cluster = await startCluster({ ...choice, stateDir, tools: prepared.tools, progress, signal })
  if (cluster.registry === null) throw new Error(noNode)
  return cluster
}

/** Makes all images, and the cluster's names, ready for pods. */
export async function provideImages(
  cluster: Cluster,
  kubectl: Kubectl,
  { stateDir, prepared, signal }: AppsClusterOptions,
): Promise<void> {
  const registry = cluster.registry!
  // The example of seed 001 names an image of Docker Hub.
  mirrorRegistry(cluster.stateDir, 'docker.io', registry)
  for (const [reference, layout] of prepared.images) {
    const { name, tag } = splitName(reference)
    await pushLayout({ layout, registry, repository: name, tags: [tag] })
  }
  const plan = { registry, folder: join(stateDir, 'images'), tools: prepared.tools, signal }
  await startNames(kubectl, await pushNames(plan))
}

/** The claim of the group's volume, and its path in apps. */
export const groupVolume = { claim: 'project', path: '/project/phusers' }

/** Makes the namespace of the group, and its volume: a folder of this run, since the cluster has no provisioner. */
export async function provideGroup(cluster: Cluster, stateDir: string): Promise<void> {
  const path = join(stateDir, 'project')
  await mkdir(path, { mode: 0o755 })
  const volume = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  const storage = '10Gi'
  const { claim } = groupVolume
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: groupNamespace, labels: groupMark } },
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: claim } },
      spec: {
        ...{ ...volume, capacity: { storage }, hostPath: { path, type: 'Directory' } },
        claimRef: { namespace: groupNamespace, name: claim },
      },
    },
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: claim, namespace: groupNamespace } },
      spec: { ...volume, resources: { requests: { storage } }, volumeName: claim },
    },
  ]
  await cluster.apply(objects.map(object => JSON.stringify(object)).join('\n---\n'))
}
