import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { readTemplate } from '../../src/apps/template.ts'
import { appsTemplatesPage } from './apps-templates-page.ts'

const page = readFileSync(new URL('../../docs/apps-templates.md', import.meta.url), 'utf8')

test('docs/apps-templates.md has the current table (npm run docs)', () => {
  expect(appsTemplatesPage(page)).toBe(page)
})

test('docs/apps-templates.md shows a template that can be read', () => {
  const text = /```yaml\n(apiVersion[\s\S]*?)```/.exec(page)![1]!
  const { errors, contents } = parseDocument(text)
  expect(errors).toEqual([])
  const { spec } = contents!.toJSON() as { spec: Record<string, unknown> }
  expect(readTemplate('mlflow', spec)).toMatchObject({ name: 'MLFlow', defaultEnvs: [{ optional: false }] })
})
