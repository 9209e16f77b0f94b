/** The index of docs/tour.md sends a reader to folders that have an example of the change. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(root, 'docs', 'tour.md'), 'utf8')

/** By what a file is known to be an example of the change; `files` are all where one could be. */
const marks: Readonly<Record<string, { readonly files: string; readonly mark: RegExp }>> = {
  'a new route': { files: 'src/**/*.ts', mark: /\bcreateRoute\(\{/g },
  'a new metric': { files: 'src/**/*.ts', mark: /\bnew (Counter|Gauge|Histogram)\(/g },
  'a new step': { files: 'src/**/*.ts', mark: /\bkind: '(act|wait)', progress\b/g },
  'a new duty': { files: 'src/**/*.ts', mark: /\bnew Duty\b/g },
  'a new key in Redis': { files: 'src/**/*.ts', mark: /\$\{this\.#tag\}/g },
  'a new option': { files: 'src/**/*.ts', mark: /\bz\.strictObject\(/g },
  'a new error': { files: 'src/**/*.ts', mark: /^ {4}when: '/gm },
  'a new attack': { files: 'test/**/*.ts', mark: /^\s*attack\('/gm },
  'a new page': { files: 'docs/**/*.md', mark: /^# /gm },
  'a new example': { files: 'docs/**/*.yaml', mark: /^\w+:/gm },
}

interface Row {
  readonly change: string
  readonly folder: string
  readonly example: string
}

const rows: readonly Row[] = page
  .slice(page.indexOf('## Where would I put'))
  .split('\n')
  .filter(line => line.startsWith('| a new '))
  .map(line => {
    const [, change, folder, example] = line.split('|').map(cell => cell.trim().replaceAll('`', ''))
    return { change: change!, folder: folder!, example: example! }
  })

test('the index of the tour names ten changes', () => {
  expect(rows.map(({ change }) => change).sort()).toEqual(Object.keys(marks).sort())
})

describe.each(rows)('the index of the tour for $change', ({ change, folder, example }) => {
  const { files, mark } = marks[change]!
  const found = globSync(files, { cwd: root })
    .filter(path => path.startsWith('test/') || !/\.test\.ts$|testing/.test(path))
    .map(path => ({ path, examples: readFileSync(join(root, path), 'utf8').match(mark)?.length ?? 0 }))

  test('names an example that lies in the folder and is one', () => {
    expect(dirname(example)).toBe(folder)
    expect(found.find(({ path }) => path === example)?.examples).toBeGreaterThan(0)
  })

  test('names the folder that holds the most examples', () => {
    const counts = new Map<string, number>()
    for (const { path, examples } of found) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + examples)
    expect(counts.get(folder)).toBe(Math.max(...counts.values()))
  })
})

test('files that the tour names are there', () => {
  const named = [...page.matchAll(/`((?:src|dev|test|docs)\/[^`…*]+)`/g)].map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(path => !existsSync(join(root, path)))).toEqual([])
})
