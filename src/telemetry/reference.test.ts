import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { metricsReference } from './reference.ts'

it('metricsReference is docs/metrics.md (npm run docs)', () => {
  expect(readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')).toBe(metricsReference())
})
