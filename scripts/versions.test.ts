/** Checks that all files have the version of package.json. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version } = JSON.parse(read('package.json'))

/** Files with a version, and the pattern that finds it. */
const places: readonly [string, RegExp][] = [
  ['hub/src/jupyterhub_skylab/__init__.py', /__version__ = "(.*)"/g],
  ['hub/examples/zero-to-jupyterhub/Dockerfile', /k8s-hub-skylab:(\S+)/g],
  ['docs/spawner.md', /k8s-hub-skylab:(\S+)/g],
  ['k8s/base/deployment.yaml', /image: skylab:(\S+)/g],
  ['k8s/base/kustomization.yaml', /app\.kubernetes\.io\/version: (\S+)/g],
  ['docs/deploy.md', /registry\.example\.org\/skylab:(\S+)/g],
  ['docs/deploy.md', /newTag: "?([^"\s]+)/g],
  ['README.md', /registry\.example\.org\/skylab:(\S+)/g],
]

test('package.json has the version of a release', () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+$/)
})

test.each(places)('%s has the version of package.json by %s', (path, pattern) => {
  const found = [...read(path).matchAll(pattern)].map(([, text]) => text)
  expect(found.length).toBeGreaterThan(0)
  expect(new Set(found)).toEqual(new Set([version]))
})

test('package-lock.json has the version of package.json', () => {
  const lock = JSON.parse(read('package-lock.json'))
  expect([lock.version, lock.packages[''].version]).toEqual([version, version])
})

test('CHANGELOG.md begins with the version of package.json, after the unreleased part', () => {
  const [first] = [...read('CHANGELOG.md').matchAll(/^## (\S+)$/gm)]
  expect(first?.[1]).toBe(version)
})

/** Roles of everybody, of tenants and of apps have such names too. */
const image = /"skylab:(?!authenticated"|(tenants|apps):)[^"]+"/g

test('no manifest names another version of the image', () => {
  const files = globSync('k8s/**/*.yaml', { cwd: root })
  const images = files.flatMap(file =>
    parseAllDocuments(read(file)).flatMap(document => JSON.stringify(document.toJS()).match(image) ?? []),
  )
  expect([...new Set(images)]).toEqual([`"skylab:${version}"`])
})
