import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tenantGroup } from '../../src/tenants/words.ts'
import { seedRows } from '../../test/integration/tenants/seed-rows.ts'
import { tenantsPage } from './tenants-page.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const folderOfAttacks = new URL('../../test/integration/faults/tenants/', import.meta.url)
const page = read('docs/tenants.md')

test('docs/tenants.md has the current tables (npm run docs)', () => {
  expect(tenantsPage(page)).toBe(page)
})

/** Tests that a row names and that do not exist. */
const missing = (tests: readonly (readonly [string, string])[]): readonly string[] =>
  tests.filter(([file, title]) => !read(file).includes(`'${title}'`)).map(each => each.join(': '))

test('docs/tenants.md names only tests that exist, for each row of this order', () => {
  expect(missing(seedRows.flatMap(({ tests }) => tests))).toEqual([])
  const later = seedRows.filter(({ tests }) => tests.length === 0).map(({ id }) => id)
  expect(later).toEqual([])
  expect(missing([['src/tenants/kind.test.ts', 'does something else']])).toHaveLength(1)
})

test('docs/tenants-review.md names only tests and attacks that exist, and answers each group of questions', () => {
  const review = read('docs/tenants-review.md')
  const files = [...review.matchAll(/`(tenants\/[\w-]+\.test\.ts)`/g)].map(([, file]) => `test/integration/${file}`)
  const attacks = [...review.matchAll(/\bN\d+\b/g)].map(([id]) => `tenants ${id} `)
  expect(files.length).toBeGreaterThan(10)
  for (const file of files) expect(read(file), file).toContain("from 'vitest'")
  const sources = readdirSync(folderOfAttacks).map(name => readFileSync(new URL(name, folderOfAttacks), 'utf8'))
  expect(attacks.filter(attack => !sources.some(text => text.includes(attack)))).toEqual([])
  const headings = [...review.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual([
    ...['Enablement and rollback', 'Rollout, upgrade, rollback', 'Monitoring', 'Dependencies', 'Scalability'],
    ...['Troubleshooting', 'Alternatives, drawbacks, what is needed'],
  ])
})

test('docs/tenants.md explains each reason of a condition', () => {
  const sources = ['status', 'rules', 'world', 'spec'].map(name => read(`src/tenants/${name}.ts`)).join('\n')
  const found = sources.matchAll(/(?:yes|no|refused)\('(\w+)'|reason: ((?:'\w+'(?: \| )?)+)|\? 'Waiting' : '(\w+)'/g)
  const reasons = new Set(
    [...found].flatMap(([, one, some, other]) => [
      ...[one, other].filter(each => each !== undefined),
      ...(some?.match(/\w+/g) ?? []),
    ]),
  )
  expect(reasons.size).toBeGreaterThan(12)
  // The condition of bills has a page of its own.
  const ofBills = read('docs/tenants-billing.md')
  const troubles = read('src/billing/table.ts')
    .match(/type TroubleReason = (.*)/)![1]!
    .match(/\w+/g)!
  expect(troubles.length).toBeGreaterThan(3)
  const isIn = (text: string) => (reason: string) => text.includes(`| \`${reason}\` |`)
  expect([...reasons].filter(reason => reason !== 'Billed' && !isIn(page)(reason))).toEqual([])
  expect([...troubles, 'Billed', 'Waiting', 'Closed'].filter(reason => !isIn(ofBills)(reason))).toEqual([])
})

test('docs/tenants.md has each label and annotation that the program knows', () => {
  const keys = read('src/tenants/words.ts').matchAll(
    /'((?:lns\.skylab|gial\.lblw\.dev|istio\.io|pod-security[\w.]*)\/[\w-]+)'/g,
  )
  const names = [...keys].map(([, key]) => key!).filter(key => key !== `${tenantGroup}/v1beta1`)
  expect(names.length).toBeGreaterThan(7)
  expect(names.filter(key => !page.includes(`| \`${key}\` |`))).toEqual([])
})
