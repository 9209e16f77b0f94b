/** Chooses the image of labs, and provides it in a registry. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Cluster } from '../cluster/types.ts'
import { labImage } from '../image/lab.ts'
import { writeLayout } from '../image/layout.ts'
import { pushLayout } from '../image/push.ts'
import { findProgram } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import type { Progress } from '../process/progress.ts'
import { startServer } from '../process/server.ts'
import type { ConfigPlan } from './config.ts'

type Images = ConfigPlan['images']

const repository = 'lsstsqre/sciplat-lab'
const tags = ['recommended', 'w_2026_46']

/** The image of labs as pods of a real node may name it. @param registry of the cluster */
export const labReference = (registry: string): string => `${registry}/${repository}:${tags[0]}`

/** Nodes of an existing cluster cannot pull from a registry on loopback, so labs there run Jupyter's published image. */
const published: Images = {
  registry: 'quay.io',
  docker: { repository: 'jupyter/minimal-notebook' },
  recommendedTag: 'latest',
}

export interface ImageOptions {
  readonly cluster: Cluster
  readonly labsOnKwok: boolean
  readonly stateDir: string
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

/**
 * Provides an image for labs and returns its location. KWOK pulls nothing, but tags must resolve to digests there too: a
 * registry of the run then has a tiny image under the same tags, if docker-registry is installed.
 */
export async function provideImage(options: ImageOptions): Promise<Images> {
  const { cluster, labsOnKwok, stateDir, progress, signal } = options
  if (!labsOnKwok && cluster.registry === null) return published
  const layout = labsOnKwok ? await tinyImage(stateDir) : await labImage(progress, signal)
  const registry = cluster.registry ?? (await startRegistry(stateDir, signal))
  if (registry === null) {
    progress.say('No docker-registry is installed: images have tags here, and no digests.')
    return { registry: '127.0.0.1:9', docker: { repository } }
  }
  await progress.part('push of the image', () => pushLayout({ layout, registry, repository, tags }))
  return { registry, docker: { repository } }
}

async function tinyImage(stateDir: string): Promise<string> {
  const rootfs = join(stateDir, 'tiny-image')
  await mkdir(rootfs, { recursive: true })
  await writeFile(join(rootfs, 'README'), 'Nothing runs here: nodes of KWOK only pretend to run pods.\n')
  const layout = `${rootfs}.layout`
  await writeLayout({ rootfs, out: layout, name: 'lab', config: {} })
  return layout
}

/** Starts Debian's docker-registry on loopback with a folder of this run; returns `host:port`, or null when not installed. */
export async function startRegistry(stateDir: string, signal?: AbortSignal): Promise<string | null> {
  const command = findProgram('docker-registry')
  if (!command) return null
  const name = 'registry'
  const address = `127.0.0.1:${await freePort()}`
  const file = join(stateDir, 'registry.yaml')
  const storage = { filesystem: { rootdirectory: join(stateDir, name) } }
  const log = { level: 'warn', accesslog: { disabled: true } }
  await writeFile(file, stringify({ version: 0.1, log, storage, http: { addr: address } }))
  const answers = async () => (await fetch(`http://${address}/v2/`)).ok
  await startServer({ name, command, args: ['serve', file], stateDir }, { answers, limitMs: 10_000, signal })
  return address
}
