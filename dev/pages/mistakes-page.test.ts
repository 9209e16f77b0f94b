import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makers } from '../../test/integration/mistakes/makers.ts'
import { rows } from '../../test/integration/mistakes/rows.ts'
import { mistakesPage } from './mistakes-page.ts'

test('docs/mistakes.md has the current table (npm run docs)', () => {
  expect(readFileSync(new URL('../../docs/mistakes.md', import.meta.url), 'utf8')).toBe(mistakesPage())
})

test('docs/mistakes.md lists the same mistakes as the makers of npm test', () => {
  const made = Object.entries(makers).flatMap(([name, mistakes]) =>
    Object.keys(mistakes).map(each => `${name}: ${each}`),
  )
  expect(rows.map(({ dependency, mistake }) => `${dependency}: ${mistake}`)).toEqual(made)
})
