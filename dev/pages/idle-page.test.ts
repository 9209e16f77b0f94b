import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { idleRows } from '../../test/integration/idle/seed-rows.ts'
import { idlePage } from './idle-page.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/idle.md')

test('docs/idle.md has the current tables (npm run docs)', () => {
  expect(idlePage(page)).toBe(page)
})

test('docs/idle.md names only tests that exist, for each row that has one', () => {
  const all = idleRows.flatMap(({ tests }) => tests)
  expect(all.filter(([file, title]) => !read(file).includes(`'${title}'`))).toEqual([])
  const open = idleRows.filter(({ tests }) => tests.length === 0).map(({ id }) => id)
  expect(open).toEqual([])
})

test('docs/idle.md has every state and every event', () => {
  const states = ['active', 'idle', 'warned', 'stopping', 'stopped', 'unknown']
  const events = ['warning', 'kept', 'stopping', 'unreachable', 'reachable']
  expect([...states, ...events].filter(word => !page.includes(`| \`${word}\` |`))).toEqual([])
})
