import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildHouse, type House } from './house.ts'
import { figuresOf, formatHouse, withTable } from './report.ts'
import { readFile, readSource, type SourceFile } from './source.ts'
import { table } from './table.ts'

const file = (path: string, ...lines: string[]) => readFile(path, `${lines.join('\n')}\n`)

/** It parses the whole source. On a machine that does much else this takes longer than Vitest's ten seconds. */
const parseMs = 60_000

describe('buildHouse of this checkout', () => {
  let files: readonly SourceFile[]
  let house: House
  beforeAll(async () => {
    files = await readSource()
    house = buildHouse(files, table)
    process.stdout.write(`\n${formatHouse(house, figuresOf(house, files))}\n`)
  }, parseMs)

  test('finds only imports that the table permits', () => {
    expect(house.against).toEqual([])
  })

  test('finds no circle of rooms or files', () => {
    expect(house.circles).toEqual([])
    expect(house.fileCircles).toEqual([])
  })

  test('finds no I/O behind pure files', () => {
    expect(house.impure).toEqual([])
    expect(files.filter(({ isPure }) => isPure).length).toBeGreaterThan(40)
  })

  test('finds nothing of labs in what a process for tenants loads', () => {
    const byPath = new Map(files.map(each => [each.path, each]))
    const loadedBy = (first: string, ...unless: readonly string[]) => {
      const loaded = new Set<string>()
      const load = (path: string) => {
        if (loaded.has(path) || unless.includes(path)) return
        loaded.add(path)
        for (const { to, isType } of byPath.get(path)?.imports ?? []) if (!isType) load(to)
      }
      load(first)
      return [...loaded]
    }
    const ofLabs = /^src\/(ops|labs|images|form|api\/(labs|images|form))\//
    // Loaded where the configuration wants it.
    const rest = 'src/run/tenants/rest.ts'
    const billing = 'src/run/tenants/billing.ts'
    const always = loadedBy('src/run/tenants/serve.ts', rest, billing)
    const ofOthers = (path: string) => /^src\/(identity|billing)\//.test(path) || ofLabs.test(path)
    expect(always.filter(ofOthers)).toEqual([])
    expect(always).toContain('src/reconcile/reconciler.ts')
    const withRest = loadedBy(rest)
    expect(withRest.filter(path => ofLabs.test(path))).toEqual([])
    expect(withRest).toContain('src/identity/oidc.ts')
    // Google's tokens are those of registries.
    const ofBills = loadedBy(billing).filter(path => ofLabs.test(path))
    expect(ofBills.filter(path => !path.startsWith('src/images/registry/'))).toEqual([])
  })

  test('finds every folder and file that the table names', () => {
    const named = new Set([...Object.keys(table), ...Object.values(table).flat()])
    const isThere = (room: string) => files.some(({ path }) => path === room || path.startsWith(`${room}/`))
    expect([...named].filter(room => room !== 'docs' && !isThere(room))).toEqual([])
  })

  test('equals the table in docs/architecture.md', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/architecture.md', import.meta.url)), 'utf8')
    expect(page, 'npm run docs writes it').toBe(withTable(page, table))
  })
})

describe('buildHouse', () => {
  test('finds an import that the table does not permit', () => {
    const files = [file('a/x.ts', "import { y } from '../b/y.ts'"), file('b/y.ts', 'export const y = 1')]
    expect(buildHouse(files, { a: [], b: [] }).against).toEqual(['a/x.ts → b/y.ts'])
    expect(buildHouse(files, { a: ['b'], b: [] }).against).toEqual([])
  })

  test('finds an import from a room without a row', () => {
    const files = [file('a/x.ts', "import { y } from '../b/y.ts'"), file('b/y.ts', 'export const y = 1')]
    expect(buildHouse(files, { b: [] }).against).toEqual(['a/x.ts → b/y.ts'])
  })

  test('applies the longest row that covers a file', () => {
    const files = [file('a/c/x.ts', "import { y } from '../y.ts'"), file('a/y.ts', 'export const y = 1')]
    expect(buildHouse(files, { a: [], 'a/c': [] }).against).toEqual(['a/c/x.ts → a/y.ts'])
  })

  test('finds circles of rooms and of files, through types too', () => {
    const files = [
      file('a/x.ts', "import type { Y } from '../b/y.ts'", 'export type X = Y'),
      file('b/y.ts', "export type { X as Y } from '../a/x.ts'"),
      file('b/z.ts', "const x = await import('../a/x.ts')"),
    ]
    const { circles, fileCircles } = buildHouse(files, {})
    expect(circles).toEqual([['a', 'b']])
    expect(fileCircles).toEqual([['a/x.ts', 'b/y.ts']])
  })

  test('finds I/O behind a pure file, but not behind its types', () => {
    const io = file('io.ts', "import { readFileSync } from 'node:fs'", 'export type T = typeof readFileSync')
    const pure = (line: string) => file('pure.ts', '/** Counts. Pure. */', line)
    expect(buildHouse([io, pure("import './io.ts'")], {}).impure).toEqual(['pure.ts → io.ts → node:fs'])
    expect(buildHouse([io, pure("import type { T } from './io.ts'")], {}).impure).toEqual([])
  })

  test('counts no arrow for an import of a test', () => {
    const files = [file('a/x.test.ts', "import { y } from '../b/y.ts'"), file('b/y.ts', 'export const y = 1')]
    expect(buildHouse(files, {}).arrows).toEqual([])
  })
})

test('readFile counts lines of files and of functions by name', () => {
  const { lines, functions } = file('a.ts', 'export function f() {', '  return 1', '}', 'const g = () => 2')
  expect(lines).toBe(4)
  expect(functions).toEqual([
    { name: 'f', lines: 3 },
    { name: 'g', lines: 1 },
  ])
})
