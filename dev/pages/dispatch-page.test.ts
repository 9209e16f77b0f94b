import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dispatchOperatorsPage, dispatchRestPage } from './dispatch-page.ts'

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

test('docs/dispatch-rest.md has the current table of bad input (npm run docs)', () => {
  const page = read('dispatch-rest.md')
  expect(dispatchRestPage(page)).toBe(page)
})

test('docs/dispatch-operators.md has the current parameters of EC2 (npm run docs)', () => {
  const page = read('dispatch-operators.md')
  expect(dispatchOperatorsPage(page)).toBe(page)
})
