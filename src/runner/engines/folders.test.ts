import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolders } from './folders.ts'

test('makeFolders makes all that lack', () => {
  const folder = mkdtempSync(join(tmpdir(), 'folders-'))
  makeFolders(join(folder, 'a/b/c'))
  makeFolders(join(folder, 'a/b/c'))
  expect(existsSync(join(folder, 'a/b/c'))).toBe(true)
  rmSync(folder, { recursive: true })
})

test('makeFolders ends when a folder below /proc is named', () => {
  expect(() => makeFolders('/proc/none/work')).toThrow('/proc/none')
})
