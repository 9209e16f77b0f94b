/** An operator's surroundings on the first day: a cluster with a real node, names, volumes, registries, and a checkout. */
import { chownSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../cluster/cluster.ts'
import type { Cluster } from '../cluster/types.ts'
import { pushLayout } from '../image/push.ts'
import { pushImages } from '../in-cluster/images.ts'
import { startPodRegistry } from '../in-cluster/registry.ts'
import { inClusterChoice, type Prepared, redisUser, startNames } from '../in-cluster/stack.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { mirrorRegistry } from '../node/runtime.ts'
import { searchPath } from '../process/command.ts'
import { marker } from '../process/process.ts'
import type { Progress } from '../process/progress.ts'
import { type DemoUsers, formatUsers, makeUsers } from '../stack/config.ts'
import { provideImage } from '../stack/image.ts'
import type { SiteValues } from './site.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The parts of a checkout that commands of the pages use. */
const used = ['docs', 'hub', 'k8s', 'scripts', 'src', 'package.json', 'package-lock.json']
/** Volumes for claims of Redis: two installations, and one that a page makes anew. */
const volumes = 3

export interface WorldOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  readonly prepared: Prepared
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

export interface World {
  readonly cluster: Cluster
  readonly kubectl: Kubectl
  /** A copy of this checkout; commands run in it. */
  readonly checkout: string
  readonly env: NodeJS.ProcessEnv
  readonly site: SiteValues
  readonly users: DemoUsers
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const { stateDir, prepared, progress, signal } = options
  const { tools } = prepared
  const cluster = await startCluster({ ...inClusterChoice(0), stateDir, tools, progress, signal })
  if (cluster.registry === null) throw new Error("There is no node for the controller's pods")
  const kubectl = createKubectl(tools, cluster.kubeconfig, cluster.stateDir)
  const site = await progress.part('images into the registry', async () => {
    const coredns = await provideImages(options, cluster.registry!, cluster)
    await startNames(kubectl, coredns)
    return siteValues(options, cluster)
  })
  for (let index = 0; index < volumes; index++) await provideVolume(cluster, stateDir, index)
  const users = makeUsers(4)
  const checkout = copyCheckout(stateDir, users)
  return { cluster, kubectl, checkout, env: environment(options, cluster, users), site, users }
}

/** Puts the images that the manifests name behind mirrors of their registries; returns the reference of CoreDNS. */
async function provideImages({ stateDir, prepared, signal }: WorldOptions, registry: string, cluster: Cluster) {
  const { tools, image } = prepared
  const folder = join(stateDir, 'images')
  const { coredns } = await pushImages({ registry, controller: image.layout, folder, tools, signal })
  const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
  await pushLayout({ layout: image.layout, registry, repository: 'skylab', tags: [version] })
  const redis = join(folder, 'redis-server.layout')
  await pushLayout({ layout: redis, registry, repository: 'library/redis', tags: ['7.2'] })
  for (const name of ['registry.example.org', 'docker.io']) mirrorRegistry(cluster.stateDir, name, registry)
  return coredns
}

async function siteValues(options: WorldOptions, cluster: Cluster): Promise<SiteValues> {
  const { stateDir, prepared, progress, signal } = options
  const { address, authority } = await startPodRegistry(cluster.stateDir, prepared.tools, signal)
  const { docker, recommendedTag } = await provideImage({ cluster, labsOnKwok: false, stateDir, progress, signal })
  return {
    registry: address,
    authority,
    repository: docker!.repository,
    recommendedTag: recommendedTag ?? 'recommended',
  }
}

/** A volume for any claim without a class, as a default StorageClass would provide. */
async function provideVolume(cluster: Cluster, stateDir: string, index: number): Promise<void> {
  const path = join(stateDir, `volume-${index}`)
  mkdirSync(path, { mode: 0o700 })
  chownSync(path, redisUser, redisUser)
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `volume-${index}` },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: '',
      hostPath: { path, type: 'Directory' },
    },
  }
  await cluster.apply(JSON.stringify(volume))
}

function copyCheckout(stateDir: string, users: DemoUsers): string {
  const checkout = join(stateDir, 'checkout')
  for (const name of used) cpSync(join(root, name), join(checkout, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  writeFileSync(join(checkout, 'tokens.yaml'), formatUsers(users), { mode: 0o600 })
  return checkout
}

/** kubectl of this run and Node of this checkout come first in PATH; the pages name tokens by these variables. */
function environment({ stateDir, prepared }: WorldOptions, { kubeconfig }: Cluster, users: DemoUsers) {
  const programs = join(stateDir, 'programs')
  mkdirSync(programs)
  symlinkSync(prepared.tools.program('kubectl'), join(programs, 'kubectl'))
  return {
    PATH: [programs, dirname(process.execPath), ...searchPath].join(delimiter),
    HOME: stateDir,
    LC_ALL: 'C.UTF-8',
    KUBECONFIG: kubeconfig,
    TOKEN: users.ada!.token,
    ADMIN_TOKEN: users.admin!.token,
    [marker]: stateDir,
  }
}
