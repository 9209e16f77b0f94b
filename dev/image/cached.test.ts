import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createProgress } from '../process/progress.ts'
import { cachedImage } from './cached.ts'

let folder: string
let built: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cached-'))
  built = []
  vi.stubEnv('XDG_CACHE_HOME', folder)
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

const quiet = () => createProgress({ durationsFile: join(folder, 'durations.json'), out: { write: () => {} } })

const image = (recipe: readonly string[], fails = false) =>
  cachedImage(
    {
      name: 'try',
      recipe,
      build: async (out, work) => {
        built.push(work)
        expect(readdirSync(work)).toEqual([])
        writeFileSync(join(work, 'half'), '')
        if (fails) throw new Error('out of paper')
        mkdirSync(out)
      },
    },
    quiet(),
  )

test('cachedImage builds an image once, until its recipe changes', async () => {
  const first = await image(['a', 'b'])
  expect(await image(['a', 'b'])).toBe(first)
  expect(built).toHaveLength(1)
  const others = [await image(['a', 'c']), await image(['ab', '']), await image(['a'])]
  expect(new Set([first, ...others]).size).toBe(4)
  expect(built).toHaveLength(4)
})

test('cachedImage leaves nothing when a build fails, and builds again', async () => {
  await expect(image(['a'], true)).rejects.toThrow('out of paper')
  expect(readdirSync(join(folder, 'skylab', 'images'))).toEqual([])
  expect(existsSync(await image(['a']))).toBe(true)
})

test('cachedImage replaces the remains of a killed build', async () => {
  await expect(image(['a'], true)).rejects.toThrow()
  const [work = ''] = built
  mkdirSync(work)
  writeFileSync(join(work, 'left'), '')
  expect(existsSync(await image(['a']))).toBe(true)
  expect(existsSync(work)).toBe(false)
})
