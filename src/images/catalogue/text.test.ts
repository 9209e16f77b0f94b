import { describe, expect, it } from 'vitest'
import { catalogueOf, imageOf } from '../../../test/kit/images/catalogue.ts'
import { configSchema } from '../../config/schema.ts'
import { catalogueScope, decodeCatalogue, encodeCatalogue } from './text.ts'

describe('encodeCatalogue', () => {
  it('writes a text that decodeCatalogue reads back', () => {
    const weekly = imageOf('w_2026_02', { digest: `sha256:${'a'.repeat(64)}`, sizeBytes: 7, aliases: ['latest', 'x'] })
    const plain = imageOf('d_2026_01_01')
    const alias = imageOf('recommended')
    const catalogue = catalogueOf({
      types: { recommended: alias, 'latest-weekly': weekly },
      prepull: [alias, weekly],
      menu: [plain],
      all: [weekly, plain],
      readAtMs: 1_767_225_600_000,
    })
    expect(decodeCatalogue(encodeCatalogue(catalogue))).toEqual(catalogue)
  })

  it('accepts a catalogue without images', () => {
    const empty = catalogueOf({})
    expect(decodeCatalogue(encodeCatalogue(empty))).toEqual(empty)
  })

  it('writes each image once', () => {
    const image = imageOf('w_2026_02')
    const text = encodeCatalogue(catalogueOf({ prepull: [image], menu: [image], all: [image] }))
    expect(text.match(/"w_2026_02"/g)).toHaveLength(1)
    const { prepull, menu, all } = decodeCatalogue(text)
    expect(prepull[0]).toBe(all[0])
    expect(menu[0]).toBe(all[0])
  })

  it('writes some megabytes for twenty thousand tags', () => {
    const all = Array.from({ length: 20_000 }, (_, i) => imageOf(`d_2026_01_01_c${i}`))
    expect(encodeCatalogue(catalogueOf({ all, menu: all })).length).toBeLessThan(2_500_000)
  })
})

describe('catalogueScope', () => {
  const scopeOf = (images: object) => catalogueScope(configSchema.parse({ images }).images)
  const plain = scopeOf({})

  it.each([
    { registry: 'example.org' },
    { docker: { repository: 'other/lab' } },
    { recommendedTag: 'recommended_c0026' },
    { numReleases: 7 },
    { numWeeklies: 7 },
    { numDailies: 7 },
    { pins: ['w_2026_02'] },
    { cycle: 26 },
    { aliasTags: ['latest'] },
    { menu: { daily: { number: 3 } } },
  ])('depends on %j', images => {
    expect(scopeOf(images)).not.toBe(plain)
    expect(scopeOf(images)).toMatch(/^[0-9a-f]{16}$/)
  })

  it.each([
    { timeoutSeconds: 1 },
    { readingTimeoutSeconds: 1 },
    { refreshIntervalSeconds: 1 },
    { maxTags: 1 },
    { plainHttp: true },
    { caFile: 'ca.pem' },
    { credentialsFile: 'config.json' },
    { restrictions: [{ tags: ['*'], groups: ['staff'] }] },
    { prepull: { enabled: false } },
  ])('does not depend on %j', images => {
    expect(scopeOf(images)).toBe(plain)
  })
})
