import { expect, it } from 'vitest'
import { catalogueOf, imageOf } from '../../../test/kit/images/catalogue.ts'
import { RetryLater } from '../../base/errors.ts'
import { StoredCatalogues } from './stored.ts'
import { encodeCatalogue } from './text.ts'
import type { Catalogue } from './types.ts'

/** Redis with a catalogue that a test replaces, and the calls that it got. */
function stored() {
  const redis = { version: undefined as string | undefined, catalogue: catalogueOf({}), away: false }
  const asked: (string | undefined)[] = []
  const look = async (known: string | undefined) => {
    asked.push(known)
    if (redis.away) throw new RetryLater('Redis does not answer')
    const { version, catalogue } = redis
    if (version === undefined) return {}
    return version === known ? { version } : { version, body: encodeCatalogue(catalogue) }
  }
  const catalogues = new StoredCatalogues({ look })
  const [changed, missed]: [Catalogue[], number[]] = [[], []]
  catalogues.onChange(catalogue => void changed.push(catalogue))
  catalogues.onMissing(() => void missed.push(asked.length))
  return { redis, asked, catalogues, changed, missed }
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
