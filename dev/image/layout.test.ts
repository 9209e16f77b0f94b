import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blobPath, type Descriptor, splitName, writeLayout } from './layout.ts'

let work: string
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'layout-'))
})
afterEach(() => rm(work, { recursive: true, force: true }))

/** A small tree; entries are made in the given order, which must not matter. */
async function tree(name: string, order: readonly string[]): Promise<string> {
  const rootfs = join(work, name)
  await mkdir(join(rootfs, 'etc'), { recursive: true })
  for (const file of order) await writeFile(join(rootfs, 'etc', file), `this is ${file}\n`)
  await symlink('etc', join(rootfs, 'link'))
  return rootfs
}

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'))
const sha256 = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`

async function manifestOf(layout: string): Promise<{ config: Descriptor; layers: [Descriptor] }> {
  const index = await readJson(join(layout, 'index.json'))
  return readJson(blobPath(layout, index.manifests[0].digest))
}

describe('writeLayout', () => {
  it('gives the same digest for the same content when order, times and place differ', async () => {
    const one = await tree('one', ['a', 'b'])
    const two = await tree('two', ['b', 'a'])
    await utimes(join(two, 'etc', 'a'), 1_000_000, 1_000_000)
    const config = { User: '1:1' }
    const first = await writeLayout({ rootfs: one, out: join(work, 'out1'), name: 'x:1', config })
    const second = await writeLayout({ rootfs: two, out: join(work, 'out2'), name: 'x:1', config })
    expect(second).toEqual(first)
  })

  it('gives another digest for other content', async () => {
    const one = await tree('one', ['a'])
    const two = await tree('two', ['b'])
    const first = await writeLayout({ rootfs: one, out: join(work, 'out1'), name: 'x', config: {} })
    const second = await writeLayout({ rootfs: two, out: join(work, 'out2'), name: 'x', config: {} })
    expect(second.digest).not.toBe(first.digest)
  })

  it.each([
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const)(
    'names every blob by its digest and the layer by that of the plain tar (%s)',
    async (compression, unpack) => {
      const out = join(work, 'out')
      await writeLayout({ rootfs: await tree('r', ['a']), out, name: 'x', config: { Cmd: ['sh'] }, compression })
      for (const hex of await readdir(join(out, 'blobs', 'sha256'))) {
        expect(sha256(await readFile(blobPath(out, hex)))).toBe(`sha256:${hex}`)
      }
      const manifest = await manifestOf(out)
      const layer = await readFile(blobPath(out, manifest.layers[0].digest))
      const config = await readJson(blobPath(out, manifest.config.digest))
      expect(manifest.layers[0]).toMatchObject({
        size: layer.length,
        mediaType: `application/vnd.oci.image.layer.v1.tar+${compression}`,
      })
      expect(config.rootfs.diff_ids).toEqual([sha256(unpack(layer))])
      expect(config.config).toEqual({ Cmd: ['sh'] })
    },
  )

  it('writes the name that an import will use', async () => {
    const out = join(work, 'out')
    await writeLayout({ rootfs: await tree('r', ['a']), out, name: 'pause.local/pause:1', config: {} })
    const index = await readJson(join(out, 'index.json'))
    expect(index.manifests[0].annotations).toEqual({
      'io.containerd.image.name': 'pause.local/pause:1',
      'org.opencontainers.image.ref.name': '1',
    })
  })

  it('keeps the old folder, and no partial one, when the tree cannot be read', async () => {
    const out = join(work, 'out')
    await writeLayout({ rootfs: await tree('r', ['a']), out, name: 'x', config: {} })
    const before = await readFile(join(out, 'index.json'), 'utf8')
    const missing = writeLayout({ rootfs: join(work, 'missing'), out, name: 'x', config: {} })
    await expect(missing).rejects.toThrow(/tar of .*missing failed/)
    expect(await readFile(join(out, 'index.json'), 'utf8')).toBe(before)
    expect((await readdir(work)).sort()).toEqual(['out', 'r'])
  })
})

describe('splitName', () => {
  it.each([
    ['pause', 'pause', 'latest'],
    ['127.0.0.1:5000/lab', '127.0.0.1:5000/lab', 'latest'],
    ['127.0.0.1:5000/a/lab:w_2022_37', '127.0.0.1:5000/a/lab', 'w_2022_37'],
  ])('splits %s', (reference, name, tag) => {
    expect(splitName(reference)).toEqual({ name, tag })
  })
})
