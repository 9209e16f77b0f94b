import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { appConditionTypes } from '../../src/apps/status.ts'
import { appAnnotations, appLabels } from '../../src/apps/words.ts'
import { appPhases } from '../../src/base/app-route.ts'
import { stamps } from '../../src/kube/labels.ts'
import { appsResourcePage } from './apps-resource-page.ts'

const page = readFileSync(new URL('../../docs/apps-resource.md', import.meta.url), 'utf8')

test('docs/apps-resource.md has the current table (npm run docs)', () => {
  expect(appsResourcePage(page)).toBe(page)
})

test('docs/apps-resource.md has each phase, condition, label and annotation that the program knows', () => {
  const rows = [...appPhases, ...appConditionTypes].map(name => `| \`${name}\` |`)
  expect(rows.filter(row => !page.includes(row))).toEqual([])
  const keys = [...Object.values(appLabels), ...Object.values(appAnnotations), stamps.stopped, stamps.keepUntil]
  expect(keys.filter(key => !page.includes(key))).toEqual([])
})
