import { expect, it } from 'vitest'
import { catalogueOf, digestA, digestB, imageOf } from '../../../test/kit/images/catalogue.ts'
import { digestIn, imageByTag, isFresh, knownDigest, tagsOfDigest } from './find.ts'

const recommended = imageOf('recommended', { digest: digestA, aliases: ['w_2'] })
const weekly = imageOf('w_2', { digest: digestA, aliases: ['recommended', 'latest'] })
const unknown = imageOf('d_1')
const catalogue = catalogueOf({ types: { recommended }, all: [weekly, unknown] })

it('imageByTag finds images by tag, and by alias when no image has it as its tag', () => {
  expect(imageByTag(catalogue, 'w_2')).toBe(weekly)
  expect(imageByTag(catalogue, 'recommended')).toBe(recommended)
  expect(imageByTag(catalogue, 'latest')).toBe(weekly)
  expect(imageByTag(catalogue, 'd_2')).toBeUndefined()
})

it('tagsOfDigest returns all tags and aliases of a digest', () => {
  expect(new Set(tagsOfDigest(catalogue, digestA))).toEqual(new Set(['w_2', 'recommended', 'latest']))
  expect(tagsOfDigest(catalogue, digestB)).toEqual([])
})

it('digestIn returns the digest of a tag or digest, and undefined when the catalogue lacks it', () => {
  const asked = ['w_2', 'latest', digestA, 'd_1', 'd_2', digestB]
  const expected = [digestA, digestA, digestA, null, undefined, undefined]
  expect(asked.map(reference => digestIn(catalogue, reference))).toEqual(expected)
})

it('knownDigest accepts a configured alias that no list has, and no other unknown tag', () => {
  const images = { aliasTags: ['stable', 'latest'] }
  const asked = ['stable', 'latest', 'd_1', 'd_2']
  expect(asked.map(reference => knownDigest(catalogue, images, reference))).toEqual([null, digestA, null, undefined])
})

it('isFresh is true until a second reading is due', () => {
  const images = { refreshIntervalSeconds: 300 }
  const read = catalogueOf({ readAtMs: 1_000_000 })
  expect([1_599_999, 1_600_000, 0].map(nowMs => isFresh(read, images, nowMs))).toEqual([true, false, false])
})
