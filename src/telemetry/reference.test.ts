import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { metricsReference } from './reference.ts'

it('is what docs/metrics.md says (npm run docs)', () => {
  expect(readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')).toBe(metricsReference())
})
