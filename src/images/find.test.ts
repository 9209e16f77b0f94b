import { expect, it } from 'vitest'
import { imageByTag, tagsOfDigest } from './find.ts'
import { catalogueOf, digestA, digestB, imageOf } from './testing/catalogue.ts'

const recommended = imageOf('recommended', { digest: digestA, aliases: ['w_2'] })
const weekly = imageOf('w_2', { digest: digestA, aliases: ['recommended', 'latest'] })
const unknown = imageOf('d_1')
const catalogue = catalogueOf({ types: { recommended }, all: [weekly, unknown] })

it('finds images by tag, and by alias where no image has it as its own', () => {
  expect(imageByTag(catalogue, 'w_2')).toBe(weekly)
  expect(imageByTag(catalogue, 'recommended')).toBe(recommended)
  expect(imageByTag(catalogue, 'latest')).toBe(weekly)
  expect(imageByTag(catalogue, 'd_2')).toBeUndefined()
})

it('knows the names of a digest', () => {
  expect(new Set(tagsOfDigest(catalogue, digestA))).toEqual(new Set(['w_2', 'recommended', 'latest']))
  expect(tagsOfDigest(catalogue, digestB)).toEqual([])
})
