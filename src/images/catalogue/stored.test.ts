import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { catalogueOf, imageOf } from '../../../test/kit/images/catalogue.ts'
import { RetryLater } from '../../base/errors.ts'
import { StoredCatalogues } from './stored.ts'
import { encodeCatalogue } from './text.ts'
import type { Catalogue } from './types.ts'

/** Redis with a catalogue that a test replaces, and the calls that it got. */
function stored() {
  const redis = { version: undefined as string | undefined, catalogue: catalogueOf({}), away: false }
  const clock = new ManualClock()
  const asked: (string | undefined)[] = []
  const look = async (known: string | undefined) => {
    asked.push(known)
    if (redis.away) throw new RetryLater('Redis does not answer')
    const { version, catalogue } = redis
    if (version === undefined) return {}
    return version === known ? { version } : { version, body: encodeCatalogue(catalogue) }
  }
  const catalogues = new StoredCatalogues({ look }, clock)
  const [changed, missed]: [Catalogue[], number[]] = [[], []]
  catalogues.onChange(catalogue => void changed.push(catalogue))
  catalogues.onMissing(() => void missed.push(asked.length))
  return { redis, clock, asked, catalogues, changed, missed }
}

it('StoredCatalogues reads a new catalogue, and reports it once', async () => {
  const { redis, asked, catalogues, changed } = stored()
  Object.assign(redis, { version: '1', catalogue: catalogueOf({ all: [imageOf('w_2026_02')] }) })
  const first = await catalogues.read()
  expect(first).toEqual(redis.catalogue)
  expect(await catalogues.read()).toBe(first)
  Object.assign(redis, { version: '2', catalogue: catalogueOf({ all: [imageOf('w_2026_03')] }) })
  expect(await catalogues.read()).toEqual(redis.catalogue)
  expect(asked).toEqual([undefined, '1', '1'])
  expect(changed.map(({ all }) => all[0]!.tag)).toEqual(['w_2026_02', 'w_2026_03'])
})

it('StoredCatalogues reads once for concurrent callers', async () => {
  const { redis, asked, catalogues } = stored()
  redis.version = '1'
  const all = await Promise.all([1, 2, 3].map(() => catalogues.read()))
  expect(new Set(all).size).toBe(1)
  expect(asked).toHaveLength(1)
})

it('StoredCatalogues keeps its catalogue when Redis is emptied, and reports that', async () => {
  const { redis, catalogues, missed } = stored()
  expect(await catalogues.read()).toBeNull()
  redis.version = '1'
  const known = await catalogues.read()
  redis.version = undefined
  expect(await catalogues.read()).toBe(known)
  expect(missed).toEqual([1, 3])
})

it('StoredCatalogues agrees on nothing while Redis has no catalogue, whatever it knows', async () => {
  const { redis, catalogues, missed } = stored()
  expect(await catalogues.agreed()).toBeNull()
  redis.version = '1'
  expect(await catalogues.agreed()).toEqual(redis.catalogue)
  redis.version = undefined
  expect(await catalogues.agreed()).toBeNull()
  expect(missed).toEqual([1, 3])
  expect(catalogues.known).toEqual(redis.catalogue)
})

it('StoredCatalogues throws while Redis is away, and recovers with it', async () => {
  const { redis, catalogues } = stored()
  redis.away = true
  await expect(catalogues.read()).rejects.toThrow(RetryLater)
  Object.assign(redis, { away: false, version: '1' })
  expect(await catalogues.read()).toEqual(redis.catalogue)
})

it('StoredCatalogues.recent asks Redis once in a second, and waits for it only when it asked none for 5 s', async () => {
  const { redis, clock, asked, catalogues } = stored()
  Object.assign(redis, { version: '1', catalogue: catalogueOf({ all: [imageOf('w_2026_02')] }) })
  const first = await catalogues.recent()
  Object.assign(redis, { version: '2', catalogue: catalogueOf({ all: [imageOf('w_2026_03')] }) })
  clock.advance(999)
  expect(await catalogues.recent()).toBe(first)
  expect(asked).toEqual([undefined])
  clock.advance(1)
  expect(await Promise.all([catalogues.recent(), catalogues.recent()])).toEqual([first, first])
  expect(asked).toEqual([undefined, '1'])
  await expect.poll(() => catalogues.recent()).toEqual(redis.catalogue)
  Object.assign(redis, { version: '3', catalogue: catalogueOf({ all: [imageOf('w_2026_04')] }) })
  clock.advance(5000)
  expect(await catalogues.recent()).toEqual(redis.catalogue)
  expect(asked).toEqual([undefined, '1', '2'])
})

it('StoredCatalogues.recent throws when Redis is away for 5 s, and not before', async () => {
  const { redis, clock, catalogues } = stored()
  redis.version = '1'
  await catalogues.recent()
  redis.away = true
  clock.advance(4999)
  expect(await catalogues.recent()).toEqual(redis.catalogue)
  clock.advance(1)
  await expect(catalogues.recent()).rejects.toThrow(RetryLater)
})

it('StoredCatalogues.recent reports while it does not wait that Redis was emptied', async () => {
  const { redis, clock, catalogues, missed } = stored()
  redis.version = '1'
  await catalogues.recent()
  redis.version = undefined
  clock.advance(1000)
  expect(await catalogues.recent()).toEqual(redis.catalogue)
  await expect.poll(() => missed).toEqual([2])
})
