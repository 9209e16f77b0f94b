/** Checks that lockfiles have a checksum of everything that is installed, here and in the image. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseRequirements, requirementFiles } from '../dev/setup/requirements.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const json = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const { packages } = json('package-lock.json')
const { dependencies, optionalDependencies } = json('package.json')

describe('package-lock.json', () => {
  test('has a sha512 of every package', () => {
    const without = Object.entries<{ integrity?: string }>(packages).filter(
      ([path, { integrity }]) => path !== '' && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
    )
    expect(without.map(([path]) => path)).toEqual([])
  })

  test.each(['x64', 'arm64'])('has Node and the bundler of the image for %s', arch => {
    const node = `node-linux-${arch}`
    expect(packages[`node_modules/${node}`]).toMatchObject({
      version: optionalDependencies[node],
      os: 'linux',
      cpu: arch,
    })
    expect(packages[`node_modules/@esbuild/linux-${arch}`].version).toBe(dependencies.esbuild)
  })

  test('has the same Node for all machines', () => {
    expect(new Set(Object.values(optionalDependencies)).size).toBe(1)
  })

  test('names no package that must run a script', () => {
    expect(Object.entries(json('package.json').allowScripts).filter(([, may]) => may)).toEqual([])
  })
})

test('libraries.json has the same C libraries and versions for both architectures', () => {
  const lock: Record<string, { file: string; version: string; sha256: string }[]> = json('dev/image/libraries.json')
  const versions = Object.values(lock).map(list =>
    list.map(({ file, version }) => `${file.replace(/^ld-linux-.*/, 'ld-linux')} ${version}`),
  )
  expect(Object.keys(lock)).toEqual(['amd64', 'arm64'])
  expect(versions[0]).toHaveLength(7)
  expect(versions[0]!.toSorted()).toEqual(versions[1]!.toSorted())
  expect(
    Object.values(lock)
      .flat()
      .filter(({ sha256 }) => !/^[0-9a-f]{64}$/.test(sha256)),
  ).toEqual([])
})

describe('lists of Python packages', async () => {
  const files = await requirementFiles()

  test('exist', () => {
    expect(files.length).toBeGreaterThanOrEqual(8)
  })

  test.each(files.map(file => [file.slice(root.length), file]))('%s has checksums of every package', (_, file) => {
    const { pins, bare } = parseRequirements(readFileSync(file, 'utf8'))
    expect(pins.length).toBeGreaterThan(0)
    expect(bare).toEqual([])
  })

  test('are refused when a package has no checksum', () => {
    const hash = `--hash=sha256:${'0'.repeat(64)}`
    expect(parseRequirements(`# a\na==1 \\\n    ${hash}\nb==2\n`)).toEqual({
      comment: '# a',
      pins: ['a==1', 'b==2'],
      bare: ['b==2'],
    })
  })

  test.each(['a>=1', 'a', '-r other.txt', 'a==1 --hash=md5:0', 'a @ https://x.org/a.whl'])(
    'must not contain %s',
    line => {
      expect(() => parseRequirements(line)).toThrow(/not a package with its version/)
    },
  )
})
