import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Packed } from './packed.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-packed-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const counted = (content: string) => {
  const count = { reads: 0 }
  const open = () => {
    count.reads += 1
    return Readable.from([Buffer.from(content)])
  }
  return { count, open }
}

const contentOf = async (packed: Packed) => gunzipSync(await buffer(packed.open())).toString()

test('open packs once for many readers, and leaves no name in its folder', async () => {
  const { count, open } = counted('a program')
  const packed = new Packed(open, folder)
  expect(await Promise.all([contentOf(packed), contentOf(packed)])).toEqual(['a program', 'a program'])
  expect(await contentOf(packed)).toBe('a program')
  expect(count.reads).toBe(1)
  expect(readdirSync(folder)).toEqual([])
})

test('open lets a reader leave early', async () => {
  const packed = new Packed(counted('a program').open, folder)
  packed.open().destroy()
  expect(await contentOf(packed)).toBe('a program')
})

test('open packs for each reader when its folder takes no file', async () => {
  const { count, open } = counted('a program')
  const packed = new Packed(open, join(folder, 'not-there'))
  expect([await contentOf(packed), await contentOf(packed)]).toEqual(['a program', 'a program'])
  expect(count.reads).toBe(2)
})
