/** Builds the controller's image by the Dockerfile of the checkout, with Debian's buildah. */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { attempt, run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { baseImage } from './base.ts'
import { cachedImage } from './cached.ts'
import { blobPath, type Descriptor } from './layout.ts'
import { billPath, proveImage, unpackImage } from './proof.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const baseName = 'localhost/base'
const certificates = '/etc/ssl/certs/ca-certificates.crt'

export interface ControllerImage {
  /** Folder of the OCI layout. */
  readonly layout: string
  /** Path of its bill of materials, CycloneDX in JSON; the image contains the same. */
  readonly sbom: string
  /** Bytes to transfer, and bytes on a node's disk. */
  readonly compressedBytes: number
  readonly bytes: number
  /** Seconds of the build without its base; null when the image was in the cache. */
  readonly buildSeconds: number | null
}

const billOf = (layout: string) => `${layout}.cdx.json`

/** The image of this checkout's source; built and proved when the cache lacks it. */
export async function controllerImage(progress: Progress, signal?: AbortSignal): Promise<ControllerImage> {
  const base = await baseImage(progress, signal)
  let buildSeconds: number | null = null
  const build = async (out: string, work: string) => {
    const begunMs = systemClock.monotonicMs()
    const part = await progress.part('controller image', () => buildController({ base, work, signal }))
    buildSeconds = Math.round((systemClock.monotonicMs() - begunMs) / 100) / 10
    await progress.part('controller image: origin of each file', () => prove({ part, out, work, signal }))
    await run('mv', [part, out])
  }
  const layout = await cachedImage({ name: 'skylab', recipe: [base, ...(await sources())], build }, progress, signal)
  return { layout, sbom: billOf(layout), ...(await sizeOf(layout)), buildSeconds }
}

interface Built {
  /** The new layout. */
  readonly part: string
  /** The later path of the layout. */
  readonly out: string
  readonly work: string
  readonly signal?: AbortSignal | undefined
}

/** Puts the bill of materials beside the image. Throws when a file of the image comes from no source. */
async function prove({ part, out, work, signal }: Built): Promise<void> {
  const rootfs = join(work, 'unpacked')
  const again = join(work, 'again')
  await mkdir(again)
  await unpackImage(part, rootfs, signal)
  const { problems } = await proveImage({ rootfs, work: again, signal })
  if (problems.length > 0) throw new Error(`Files of the image without a source:\n  ${problems.join('\n  ')}`)
  await copyFile(join(rootfs, billPath), billOf(out))
}

/** Paths and contents of the files that .dockerignore lets in. */
async function sources(): Promise<(string | Buffer)[]> {
  const folders = ['src', 'dev/image'].map(name =>
    readdir(join(checkout, name), { recursive: true, withFileTypes: true }),
  )
  const all = (await Promise.all(folders)).flat()
  const files = all.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const root = ['Dockerfile', '.dockerignore', '.npmrc', 'package.json', 'package-lock.json', 'dev/image/bundle.ts']
  const paths = [...root.map(name => join(checkout, name)), ...files.sort()]
  const contents = await Promise.all(paths.map(path => readFile(path)))
  return paths.flatMap((path, index) => [path.slice(checkout.length), contents[index]!])
}

interface Build {
  readonly base: string
  readonly work: string
  readonly signal?: AbortSignal | undefined
}

/** Builds in a store of its own, which goes with the work folder. Resolves with the folder of the layout there. */
async function buildController({ base, work, signal }: Build): Promise<string> {
  const store = ['--root', join(work, 'store'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs']
  const env = { ...process.env, TMPDIR: work }
  const buildah = (...args: string[]) => run('buildah', [...store, ...args], { cwd: work, env, signal })
  await writeFile(join(work, 'npmrc'), await npmSettings(), { mode: 0o600 })
  // The machine can be behind a proxy with a certificate authority of its own.
  const borrowed = existsSync(certificates) ? ['--volume', `${certificates}:${certificates}:ro`] : []
  // FROM accepts registries and its own store, but no folder. An image is named by its path, so it gets a simple one.
  await symlink(base, join(work, 'base'))
  await buildah('tag', (await buildah('pull', '--quiet', 'oci:base')).trim(), baseName)
  await buildah(
    ...['build', '--isolation', 'chroot', '--format', 'oci', '--layers=false', ...borrowed],
    ...['--secret', `id=npmrc,src=${join(work, 'npmrc')}`, '--build-arg', `BASE=${baseName}`],
    ...['--file', join(checkout, 'Dockerfile'), '--tag', 'skylab', checkout],
  )
  const part = join(work, 'layout')
  await buildah('push', '--quiet', 'skylab', `oci:${part}:skylab`)
  return part
}

/** The registry and certificates of this machine's npm; secrets in them stay in the builder. */
async function npmSettings(): Promise<string> {
  const setting = async (key: string) => (await attempt('npm', ['config', 'get', key], { cwd: checkout }))?.trim()
  const file = await setting('userconfig')
  const own = file && existsSync(file) ? await readFile(file, 'utf8') : ''
  const lines = [`registry=${await setting('registry')}`]
  if (existsSync(certificates)) lines.push(`cafile=${certificates}`)
  return `${own}\n${lines.join('\n')}\n`
}

/** Sizes of the one image in a layout: its blobs, and their unpacked content. */
async function sizeOf(layout: string): Promise<Pick<ControllerImage, 'bytes' | 'compressedBytes'>> {
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'))
  const manifest = JSON.parse(await readFile(blobPath(layout, index.manifests[0].digest), 'utf8'))
  const layers: readonly Descriptor[] = manifest.layers
  const unpacked = await Promise.all(layers.map(({ digest }) => unpackedBytes(blobPath(layout, digest))))
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
  return { compressedBytes: sum(layers.map(({ size }) => size)), bytes: sum(unpacked) }
}

async function unpackedBytes(layer: string): Promise<number> {
  if ((await stat(layer)).size === 0) return 0
  return Number(await run('sh', ['-c', 'gzip --decompress --stdout "$1" | wc --bytes', 'sh', layer]))
}
