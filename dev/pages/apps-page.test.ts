import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { appPhases, appScopes } from '../../src/base/app-route.ts'
import { appRows } from '../../test/integration/apps/seed-rows.ts'
import { appsPage } from './apps-page.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/apps.md')

test('docs/apps.md has the current list of acceptance (npm run docs)', () => {
  expect(appsPage(page)).toBe(page)
})

test('docs/apps.md names only tests that exist, and one at least for each row', () => {
  const all = appRows.flatMap(({ tests }) => tests)
  expect(all.filter(([file, title]) => !read(file).includes(`'${title}'`))).toEqual([])
  expect(appRows.filter(({ tests }) => tests.length === 0).map(({ id }) => id)).toEqual([])
})

test('docs/apps.md has every phase and every scope', () => {
  expect([...appPhases, ...appScopes].filter(word => !page.includes(`| \`${word}\` |`))).toEqual([])
})
