import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dispatchRows } from '../../test/integration/dispatch/seed-rows.ts'
import { dispatchOperatorsPage, dispatchRestPage, dispatchRowsPage } from './dispatch-page.ts'

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

test('docs/dispatch-rest.md has the current table of bad input (npm run docs)', () => {
  const page = read('dispatch-rest.md')
  expect(dispatchRestPage(page)).toBe(page)
})

test('docs/dispatch-operators.md has the current parameters of EC2 (npm run docs)', () => {
  const page = read('dispatch-operators.md')
  expect(dispatchOperatorsPage(page)).toBe(page)
})

test('docs/dispatch-rows.md has the current table of rows (npm run docs)', () => {
  const page = read('dispatch-rows.md')
  expect(dispatchRowsPage(page)).toBe(page)
})

test('docs/dispatch-rows.md names only tests that exist, and says of each row without one that it is not there yet', () => {
  const missing = dispatchRows.flatMap(({ tests }) =>
    tests.filter(([file, title]) => !read(`../${file}`).includes(`'${title}'`)),
  )
  expect(missing).toEqual([])
  const without = dispatchRows.filter(({ tests }) => tests.length === 0)
  expect(without.filter(({ departs }) => departs !== 'not there yet')).toEqual([])
  expect(new Set(dispatchRows.map(({ id }) => id)).size).toBe(dispatchRows.length)
})
