/** The day runs each command of the operators' pages, or the page says why not. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Block, readBlocks } from './blocks.ts'
import { commandsOf } from './commands.ts'
import { formatDay } from './day.ts'
import { firstLook, mistakes, troubleshooting } from './mistakes.ts'
import { placed, places, unknownPlaces } from './places.ts'
import { otherPages, pagesOfTheDay, whileUsersWork } from './plan.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (page: string) => readFileSync(join(root, page), 'utf8')
const blocksIn = (page: string): readonly Block[] => readBlocks(page, read(page)).blocks

describe.each(pagesOfTheDay)('%s', page => {
  const { blocks, problems } = readBlocks(page, read(page))
  const run = blocks.filter(({ excuse }) => excuse === null)

  test('has only commands that the day runs, or a reason why not', () => {
    expect(problems).toEqual([])
    for (const block of blocks) expect(commandsOf(block).length, `${page}:${block.line}`).toBeGreaterThan(0)
  }, 60_000)

  test('names only places that exist or are in the table of places', () => {
    expect(run.flatMap(({ lines }) => unknownPlaces(lines.join('\n')))).toEqual([])
  })
})

test('otherPages names every other page with commands for a cluster, and a reason', () => {
  const folder = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
  const pages = ['README.md', ...folder.map(name => `docs/${name}`)].filter(page => !pagesOfTheDay.includes(page))
  const withCommands = pages.filter(page =>
    blocksIn(page).some(({ lines }) =>
      lines.some(line => /^\s*(\w+=\S+ )*(kubectl|skylab|npm run -s skylab)\b/.test(line)),
    ),
  )
  expect(withCommands.filter(page => !(page in otherPages))).toEqual([])
  expect(Object.keys(otherPages).filter(page => !existsSync(join(root, page)))).toEqual([])
})

test('places are all written on some page', () => {
  const written = pagesOfTheDay.map(read).join('\n')
  expect(places.filter(place => !written.includes(place.written))).toEqual([])
})

test("placed replaces an example's name by its place in the day", () => {
  const [first] = places
  expect(placed(`cat ${first!.written}`)).toBe(`cat ${first!.here}`)
  expect(unknownPlaces('curl https://other.example.org/path skylab.my.org')).toEqual(['https://other.example.org/path'])
})

test('whileUsersWork names headings that have commands', () => {
  for (const each of whileUsersWork) {
    const [page, heading] = each.split('#')
    expect(blocksIn(page!).filter(block => block.heading === heading && !block.excuse)).not.toEqual([])
  }
})

test('docs/troubleshooting.md has commands for the first look, and quotes what each mistake shows', () => {
  const text = read(troubleshooting)
  expect(blocksIn(troubleshooting).filter(({ heading }) => heading === firstLook)).not.toEqual([])
  for (const { words } of mistakes) for (const each of words) expect(text).toContain(each)
})

test('pages quote lines of the log as the program writes them', () => {
  const source = globSync('src/**/*.ts', { cwd: root, exclude: path => path.endsWith('.test.ts') })
    .map(read)
    .join('\n')
  const quoted = ['docs/operations.md', troubleshooting].flatMap(page =>
    [...read(page).matchAll(/\blogs?: ("[^"]+"(?:, "[^"]+")*)/g)].flatMap(([, list]) =>
      list!.slice(1, -1).split('", "'),
    ),
  )
  expect(quoted.length).toBeGreaterThan(8)
  expect(quoted.filter(words => !source.includes(`'${words}`))).toEqual([])
})

test('formatDay sums seconds by page and by mistake', () => {
  const done = [
    { at: 'docs/one.md:3', text: 'a', seconds: 1 },
    { at: 'docs/one.md:4', text: 'b', seconds: 2.5 },
    { at: 'a mistake', text: 'c', seconds: 4 },
  ]
  expect(formatDay(done)).toBe('docs/one.md    2 commands     3.5 s\na mistake      1 commands     4.0 s')
})
