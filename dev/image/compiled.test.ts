import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isCompiledFrom } from './compiled.ts'

const source = 'export const answer = () => 42\n'
let folder: string
let file: Buffer
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'compiled-'))
  writeFileSync(join(folder, 'main.mjs'), source)
  execFileSync(process.execPath, [join(folder, 'main.mjs')], { env: { NODE_COMPILE_CACHE: join(folder, 'cache') } })
  const [name] = readdirSync(join(folder, 'cache'), { recursive: true, encoding: 'utf8' }).filter(path =>
    /\//.test(path),
  )
  file = readFileSync(join(folder, 'cache', name!))
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true }))

it('isCompiledFrom recognizes the code that Node compiled from a source', () => {
  expect(isCompiledFrom(file, [Buffer.from('other'), Buffer.from(source)])).toBe(true)
})

it.each([
  ['another source', () => isCompiledFrom(file, [Buffer.from(source.replace('42', '43'))])],
  ['a byte changed', () => isCompiledFrom(changed(file), [Buffer.from(source)])],
  ['a byte more', () => isCompiledFrom(Buffer.concat([file, Buffer.alloc(1)]), [Buffer.from(source)])],
  ['a head alone', () => isCompiledFrom(file.subarray(0, 20), [Buffer.from(source)])],
])('rejects it with %s', (_, known) => {
  expect(known()).toBe(false)
})

function changed(content: Buffer): Buffer {
  const copy = Buffer.from(content)
  copy[40]! ^= 1
  return copy
}
