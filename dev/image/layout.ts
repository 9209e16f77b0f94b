/**
 * Builds container images without Docker: a folder becomes an OCI image layout of one layer.
 * https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, createZstdCompress, constants as zlib } from 'node:zlib'

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json'
const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json'
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar'

export type Compression = 'gzip' | 'zstd'

/** The "config" object of an image, as the OCI image specification names its fields. */
export interface ImageConfig {
  readonly User?: string
  readonly WorkingDir?: string
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly ExposedPorts?: Readonly<Record<string, Record<string, never>>>
}

export interface LayoutOptions {
  /** The folder that becomes the image's root; its own mode becomes that of `/`. */
  readonly rootfs: string
  /** The folder to make. An existing one is replaced once the new one is complete. */
  readonly out: string
  /** `name[:tag]` for `ctr images import`; the tag defaults to `latest`. */
  readonly name: string
  readonly config: ImageConfig
  readonly compression?: Compression
}

/** A blob as manifests refer to it. `size` is in bytes. */
export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/**
 * Writes the layout and returns the manifest's descriptor. The same folder gives the same digests: order, times and
 * owners (all 0:0) are fixed. Fails with tar's message when the folder cannot be read completely.
 */
export async function writeLayout(options: LayoutOptions): Promise<Descriptor> {
  const part = `${options.out}.${process.pid}.part`
  await rm(part, { recursive: true, force: true })
  await mkdir(join(part, 'blobs', 'sha256'), { recursive: true })
  try {
    const manifest = await writeImage(part, options)
    await rm(options.out, { recursive: true, force: true })
    await rename(part, options.out)
    return manifest
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

async function writeImage(folder: string, options: LayoutOptions): Promise<Descriptor> {
  const { layer, diffId } = await writeLayer(folder, options.rootfs, options.compression ?? 'gzip')
  const config = await writeJson(folder, CONFIG_TYPE, {
    architecture: architecture(),
    os: 'linux',
    config: options.config,
    rootfs: { type: 'layers', diff_ids: [diffId] },
  })
  const manifest = await writeJson(folder, MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config,
    layers: [layer],
  })
  const { name, tag } = splitName(options.name)
  const annotations = {
    'io.containerd.image.name': `${name}:${tag}`,
    'org.opencontainers.image.ref.name': tag,
  }
  await writeFile(
    join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
  )
  await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  return manifest
}

/** The layer's id is the digest of the plain tar, its blob's the digest of the compressed one: computed in one pass. */
async function writeLayer(folder: string, rootfs: string, compression: Compression) {
  const plain = hashing()
  const packed = hashing()
  const blob = join(folder, 'layer')
  const tar = startTar(rootfs)
  await Promise.all([
    pipeline(tar.stdout, plain.stream, compressor(compression), packed.stream, createWriteStream(blob)),
    tar.ended,
  ])
  const digest = packed.digest()
  await rename(blob, blobPath(folder, digest))
  const layer: Descriptor = { mediaType: `${LAYER_TYPE}+${compression}`, digest, size: packed.bytes() }
  return { layer, diffId: plain.digest() }
}

/** Speed counts more than size: unpacking limits how soon the first lab runs. */
function compressor(compression: Compression) {
  if (compression === 'zstd') return createZstdCompress({ params: { [zlib.ZSTD_c_compressionLevel]: 1 } })
  return createGzip({ level: 1 })
}

function startTar(rootfs: string) {
  const fixed = ['--sort=name', '--numeric-owner', '--owner=0', '--group=0', '--mtime=@0', '--format=posix']
  const pax = '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime'
  const child = spawn('tar', ['-C', rootfs, ...fixed, pax, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let words = ''
  child.stderr.on('data', chunk => {
    words += chunk
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => (code === 0 ? resolve() : reject(new Error(`tar of ${rootfs} failed: ${words.trim()}`))))
  })
  return { stdout: child.stdout, ended }
}

function hashing() {
  const hash = createHash('sha256')
  let bytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  return { stream, digest: () => `sha256:${hash.digest('hex')}`, bytes: () => bytes }
}

async function writeJson(folder: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const content = Buffer.from(JSON.stringify(value))
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`
  await writeFile(blobPath(folder, digest), content)
  return { mediaType, digest, size: content.length }
}

/** Path of the blob with this digest in a layout. */
export function blobPath(layout: string, digest: string): string {
  return join(layout, 'blobs', 'sha256', digest.replace('sha256:', ''))
}

/** `name` and `tag` of a reference; a port of the registry is no tag. */
export function splitName(reference: string): { name: string; tag: string } {
  const colon = reference.lastIndexOf(':')
  if (colon <= reference.lastIndexOf('/')) return { name: reference, tag: 'latest' }
  return { name: reference.slice(0, colon), tag: reference.slice(colon + 1) }
}

/** The architecture by Go's name, as images have it. */
function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch
}
