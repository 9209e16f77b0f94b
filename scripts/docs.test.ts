/** Checks that commands, options, files and headings that pages name exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { usage as demoUsage } from '../dev/demo/options.ts'
import { usage as faultsUsage } from '../dev/faults/options.ts'
import { usage as testUsage } from '../dev/test/options.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const pagesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join(root, folder, name))
const ownPages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'test/README.md'].map(name => join(root, name))
const pages = [...ownPages, ...pagesIn('docs'), ...pagesIn('hub'), ...pagesIn('k8s')]

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => found!)

/** Text between backticks on one line. */
const spans = (text: string) => all(text.replaceAll(/^```.*?^```/gms, ''), /`([^`\n]+)`/g)

/** Headings as links name them, and places that have a name of their own. */
const anchors = (text: string) => [
  ...all(text, /^#+ (.*)$/gm).map(heading =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  ),
  ...all(text, /<a id="([^"]+)">/g),
]

function brokenLinks(page: string, text: string): string[] {
  return all(text, /\]\(([^)\s]+)\)/g).filter(link => {
    if (/^[a-z]+:/.test(link)) return false
    const [path, anchor] = link.split('#')
    const target = path ? join(dirname(page), path) : page
    if (!existsSync(target)) return true
    return anchor !== undefined && !anchors(readFileSync(target, 'utf8')).includes(anchor)
  })
}

const isPath = (span: string) => /^[\w.-]+(\/[\w.-]+)+\/?$/.test(span)
const rooms = /^(src|dev|bench|docs|hub|k8s|scripts|test)\//
/** Pages about tests and rooms name their files by short paths. */
const shortRooms: readonly [RegExp, string][] = [
  [/^(store|faults)\//, 'test/integration'],
  [/^kit\//, 'test'],
  [/^(api|ops|labs|images|leases|kube|identity|config|telemetry)\/[\w-]+\.ts$/, 'src'],
]

/** Whether a file or folder of this name exists, or a test with this name. */
function isThere(path: string): boolean {
  if (existsSync(join(root, path))) return true
  const folder = join(root, dirname(path))
  return existsSync(folder) && readdirSync(folder).some(name => name.startsWith(`${basename(path)}.`))
}

function missingFiles(text: string): string[] {
  return spans(text)
    .filter(isPath)
    .filter(span => {
      if (rooms.test(span)) return !isThere(span)
      const short = shortRooms.find(([pattern]) => pattern.test(span))
      return short !== undefined && !isThere(join(short[1], span)) && !isThere(join('src', span))
    })
}

const missingScripts = (text: string) =>
  all(text, /\bnpm run (?:-s )?([\w:-]+)/g).filter(name => !Object.hasOwn(scripts, name))

function missingOptions(text: string): string[] {
  const commands = { 'npm test': testUsage, 'npm run demo': demoUsage, 'npm run faults': faultsUsage }
  return Object.entries(commands).flatMap(([command, usage]) =>
    all(text, new RegExp(`\\b${command} -- ([^\`\n]*)`, 'g'))
      .flatMap(rest => all(rest, /(?<!\S)(--[a-z-]+)/g))
      .filter(option => option !== '--help' && !usage.includes(`  ${option} `))
      .map(option => `${command} -- ${option}`),
  )
}

/** Fetches of the Python package or of a tag of this repository: neither is published. */
const unpublished = (text: string) => all(text, /(pip install [^\n]*jupyterhub-skylab\b|[?]ref=v[\d.]+)/g)

describe.each(pages.map(page => [relative(root, page), page]))('%s', (_, page) => {
  const text = readFileSync(page, 'utf8')

  test('links lead to existing files and headings', () => {
    expect(brokenLinks(page, text)).toEqual([])
  })

  test('named files exist', () => {
    expect(missingFiles(text)).toEqual([])
  })

  test('commands and options exist', () => {
    expect([...missingScripts(text), ...missingOptions(text)]).toEqual([])
  })

  test('no command fetches anything unpublished', () => {
    expect(unpublished(text)).toEqual([])
  })
})

test('the checks find a link, a file and a command that do not exist', () => {
  const text = [
    'see [one](docs/none.md), [two](README.md#nothing) and [three](README.md#try-it)',
    '`src/none.ts`, `src/main.ts`, `faults/none`, `faults/stop`, `api/none.ts`, `api/request/errors.ts`',
    '`npm run none`, `npm run -s skylab`, `npm test -- --none --unit`, `npm run demo -- --once`',
  ].join('\n')
  expect(brokenLinks(join(root, 'README.md'), text)).toEqual(['docs/none.md', 'README.md#nothing'])
  expect(missingFiles(text)).toEqual(['src/none.ts', 'faults/none', 'api/none.ts'])
  expect(missingScripts(text)).toEqual(['none'])
  expect(missingOptions(text)).toEqual(['npm test -- --none'])
  expect(unpublished('`pip install jupyterhub-skylab`, `x?ref=v1`, `pip install ./hub`')).toHaveLength(2)
})
