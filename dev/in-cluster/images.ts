/** Puts the images of the pods in the cluster into the demo's registry. */
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ImageConfig, writeLayout } from '../image/layout.ts'
import { pushLayout } from '../image/push.ts'
import { redisConfig, redisTree } from '../image/redis.ts'
import type { Tools } from '../setup/setup.ts'

export interface ImagePlan {
  /** `host:port` of the registry on loopback, from which the node pulls. */
  readonly registry: string
  /** OCI layout of the controller. */
  readonly controller: string
  /** Folder for new files. */
  readonly folder: string
  readonly tools: Tools
  readonly signal?: AbortSignal | undefined
}

/** References with digests, as pods name them. */
export interface ImageReferences {
  readonly controller: string
  readonly redis: string
  readonly coredns: string
}

/** Builds images of Debian's Redis with its libraries, and of CoreDNS; pushes all three. */
export async function pushImages(plan: ImagePlan): Promise<ImageReferences> {
  const [controller, redis, coredns] = await Promise.all([
    push(plan, 'controller', plan.controller),
    pushMade(plan, 'redis-server', redisTree, redisConfig),
    pushNames(plan),
  ])
  return { controller, redis, coredns }
}

/** Builds an image of CoreDNS, which needs no libraries, and pushes it. */
export function pushNames(plan: Omit<ImagePlan, 'controller'>): Promise<string> {
  const copy = (rootfs: string) => copyFile(plan.tools.program('coredns'), join(rootfs, 'coredns'))
  return pushMade(plan, 'coredns', copy, { Entrypoint: ['/coredns'] })
}

async function pushMade(
  plan: Omit<ImagePlan, 'controller'>,
  name: string,
  fill: (rootfs: string) => Promise<void>,
  config: ImageConfig,
): Promise<string> {
  const rootfs = join(plan.folder, name)
  await mkdir(rootfs, { recursive: true, mode: 0o755 })
  await fill(rootfs)
  await writeLayout({ rootfs, out: `${rootfs}.layout`, name, config })
  return push(plan, name, `${rootfs}.layout`)
}

async function push({ registry }: Pick<ImagePlan, 'registry'>, name: string, layout: string): Promise<string> {
  const repository = `skylab/${name}`
  return `${registry}/${repository}@${await pushLayout({ layout, registry, repository, tags: ['demo'] })}`
}
