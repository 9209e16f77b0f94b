import { describe, expect, it } from 'vitest'
import { catalogueOf, digestA, digestB, imageOf } from '../../test/kit/images/catalogue.ts'
import type { LabOptions } from '../base/domain.ts'
import { ApiError, RetryLater } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import type { Catalogue } from './catalogue/types.ts'
import { Images, nothingPrepulled } from './service.ts'

const repository = { registry: 'example.org', docker: { repository: 'some/lab' } }
const weekly = imageOf('w_2026_02', { name: 'Weekly 2026_02', digest: digestA, aliases: ['latest_weekly'] })
const recommended = imageOf('recommended', { name: 'Recommended (Weekly 2026_02)', digest: digestA })
const catalogue = catalogueOf({ types: { recommended, 'latest-weekly': weekly }, all: [weekly] })

interface World {
  /** The block `images`, beside the repository. */
  readonly images?: object
  /** null: the registry was never read. */
  readonly catalogue?: Catalogue | null
  /** The catalogue of some seconds ago. Default: the newest one. */
  readonly recent?: Catalogue
  /** The current contents of the registry; it does not answer for a tag without digest. */
  readonly tags?: Readonly<Record<string, string | null>>
  readonly redisAway?: boolean
}

function imagesOf({
  images = {},
  catalogue: known = catalogue,
  recent,
  tags = { recommended: digestA },
  redisAway,
}: World) {
  const read = async () => {
    if (redisAway) throw new RetryLater('Redis does not answer')
    return known
  }
  const look = async (reference: string) => {
    if (reference in tags) return tags[reference]!
    return Object.values(tags).includes(reference) ? reference : 'missing'
  }
  return new Images({
    images: configSchema.parse({ images: { ...repository, ...images } }).images,
    catalogues: { known, read, recent: async () => (recent === undefined ? read() : recent) },
    digests: { look },
    prepulls: nothingPrepulled,
  })
}

const resolve = (world: World, options: LabOptions, ...groups: string[]) =>
  imagesOf(world).resolve(options, { groups: groups.map(name => ({ name })) })

async function refusal(world: World, options: LabOptions, ...groups: string[]) {
  const error = await resolve(world, options, ...groups).catch(error => error)
  expect(error).toBeInstanceOf(ApiError)
  return { status: (error as ApiError).status, ...(error as ApiError).detail[0]! }
}
const at = (option: string) => ['body', 'options', option]

describe('resolve by type', () => {
  it('returns the catalogue’s image, with its current digest', async () => {
    expect(await resolve({ tags: { w_2026_02: digestB } }, { image_type: 'latest-weekly' })).toEqual({
      reference: `example.org/some/lab:w_2026_02@${digestB}`,
      tag: 'w_2026_02',
      digest: digestB,
      description: 'Weekly 2026_02',
    })
  })

  it('returns the catalogue’s recommendation when the recommended tag is missing', async () => {
    const release = imageOf('r27_0_0')
    const world = { catalogue: catalogueOf({ types: { recommended: release } }), tags: { r27_0_0: null } }
    expect(await resolve(world, { image_type: 'recommended' })).toMatchObject({ tag: 'r27_0_0', digest: null })
  })

  it('returns the recommended image before the registry was ever read', async () => {
    const world = {
      images: { recommendedTag: 'recommended_c0026' },
      catalogue: null,
      tags: { recommended_c0026: null },
    }
    expect(await resolve(world, { image_type: 'recommended' })).toEqual({
      reference: 'example.org/some/lab:recommended_c0026',
      tag: 'recommended_c0026',
      digest: null,
      description: expect.stringMatching(/^Recommended/),
    })
  })

  it.each(['latest-weekly', 'latest-daily', 'latest-release'])(
    'answers 503 for %s before the registry was ever read',
    async image_type => {
      const error: ApiError = await resolve({ catalogue: null }, { image_type }).catch(error => error)
      expect([error.status, error.headers['Retry-After']]).toEqual([503, '5'])
    },
  )

  it('returns an image that only the newest catalogue has', async () => {
    const world = { recent: catalogueOf({}), tags: { w_2026_02: digestA } }
    expect(await resolve(world, { image_type: 'latest-weekly' })).toMatchObject({ tag: 'w_2026_02' })
  })

  it('refuses a type without an image', async () => {
    expect(await refusal({}, { image_type: 'latest-daily' })).toEqual({
      ...{ status: 422, type: 'invalid', loc: at('image_type') },
      msg: 'some/lab has no image of the type latest-daily',
    })
  })

  it('refuses a type whose image has vanished since', async () => {
    expect(await refusal({ tags: {} }, { image_type: 'latest-weekly' })).toMatchObject({
      ...{ status: 422, loc: at('image_type') },
      msg: 'There is no image w_2026_02 in some/lab',
    })
  })
})

describe('resolve by tag', () => {
  it('takes precedence over the type, and needs no catalogue', async () => {
    const world = { redisAway: true, tags: { d_2026_01_12: digestB } }
    const options = { image_tag: 'd_2026_01_12', image_type: 'latest-weekly' }
    expect(await resolve(world, options)).toMatchObject({ tag: 'd_2026_01_12', description: 'Daily 2026_01_12' })
  })

  it('returns the catalogue’s name of the image', async () => {
    expect(await resolve({}, { image_tag: 'recommended' })).toMatchObject({
      description: 'Recommended (Weekly 2026_02)',
    })
  })

  it('accepts a tag that is newer than the catalogue', async () => {
    expect(await resolve({ tags: { w_2026_03: digestB } }, { image_tag: 'w_2026_03' })).toMatchObject({
      digest: digestB,
    })
  })

  it.each([
    [{ image_tag: 'w_1999_01' }, 'image_tag', 'There is no image w_1999_01 in some/lab'],
    [{ image_list: `some/lab@${digestB}` }, 'image_list', `There is no image ${digestB} in some/lab`],
  ])('refuses an image that the registry lacks: %j', async (options, option, msg) => {
    expect(await refusal({}, options)).toEqual({ status: 422, msg, type: 'invalid', loc: at(option) })
  })
})

it('keeps a requested digest', async () => {
  const world = { tags: { w_2026_02: digestB, old: digestA } }
  expect(await resolve(world, { image_list: `example.org/some/lab:w_2026_02@${digestA}` })).toMatchObject({
    reference: `example.org/some/lab:w_2026_02@${digestA}`,
    digest: digestA,
  })
  expect(await resolve(world, { image_dropdown: `some/lab@${digestA}` })).toEqual({
    ...{ reference: `example.org/some/lab@${digestA}`, tag: '', digest: digestA },
    description: `Image ${digestA}`,
  })
})

describe('resolve of restricted images', () => {
  const images = { restrictions: [{ tags: ['w_*'], groups: ['devs'] }] }
  const tags = { recommended: digestA, w_2026_02: digestA, w_2026_01: digestB, moved: digestB }
  const world = { images, tags }

  it.each([
    [{ image_tag: 'w_2026_02' }, 'image_tag'],
    [{ image_type: 'latest-weekly' }, 'image_type'],
    [{ image_list: 'some/lab:w_2026_02' }, 'image_list'],
    [{ image_dropdown: `some/lab:w_2026_02@${digestA}` }, 'image_dropdown'],
  ])('answers 403 with the option: %j', async (options, option) => {
    expect(await refusal(world, options, 'other')).toEqual({
      ...{ status: 403, type: 'forbidden', loc: at(option) },
      msg: 'The image w_2026_02 is kept from you: it is for other groups',
    })
  })

  it('permits them to other users, and under a tag that is not restricted', async () => {
    expect((await resolve(world, { image_tag: 'w_2026_02' }, 'devs')).tag).toBe('w_2026_02')
    expect((await resolve(world, { image_type: 'recommended' })).tag).toBe('recommended')
  })

  it('refuses a digest that no permitted tag has', async () => {
    for (const image_list of [`some/lab@${digestB}`, `some/lab:recommended@${digestB}`]) {
      expect(await refusal(world, { image_list })).toMatchObject({ status: 422, loc: at('image_list') })
      expect((await resolve(world, { image_list }, 'devs')).digest).toBe(digestB)
    }
  })

  it('permits a digest that a permitted tag has', async () => {
    expect((await resolve(world, { image_list: `some/lab:recommended@${digestA}` })).digest).toBe(digestA)
    // The catalogue knows that `recommended` refers to it.
    expect((await resolve(world, { image_list: `some/lab@${digestA}` })).digest).toBe(digestA)
    expect((await resolve(world, { image_list: `some/lab:moved@${digestA}` })).digest).toBe(digestA)
  })

  it('refuses every digest without a tag while the registry was not read', async () => {
    const unread = { ...world, catalogue: null }
    expect(await refusal(unread, { image_list: `some/lab@${digestA}` })).toMatchObject({ status: 422 })
  })
})

describe('resolve with a cycle', () => {
  const images = { cycle: 26, recommendedTag: 'recommended_c0026' }
  const ours = imageOf('w_2026_02_c0026.003', { digest: digestA, aliases: ['latest_weekly'] })
  const cycled = catalogueOf({ types: { recommended: ours }, all: [ours] })
  const tags = {
    ...{ 'w_2026_02_c0026.003': digestA, 'w_2026_03_c0026.001': digestB, latest_weekly: digestA, latest: digestB },
    ...{ 'w_2026_02_c0027.001': digestB, w_2026_02: digestB, recommended_c0026: digestA },
  }
  const world = { images, catalogue: cycled, tags }

  it.each([
    { image_tag: 'w_2026_02_c0026.003' },
    { image_tag: 'w_2026_03_c0026.001' },
    { image_tag: 'latest_weekly' },
    { image_tag: 'recommended_c0026' },
    { image_type: 'recommended' },
    { image_list: `some/lab@${digestA}` },
  ])('permits an image of the cycle: %j', async options => {
    expect((await resolve(world, options)).reference).toContain('example.org/some/lab')
  })

  it.each<[LabOptions, string]>([
    [{ image_tag: 'w_2026_02_c0027.001' }, 'image_tag'],
    [{ image_tag: 'w_2026_02' }, 'image_tag'],
    [{ image_tag: 'latest' }, 'image_tag'],
    [{ image_list: 'some/lab:w_2026_02_c0027.001' }, 'image_list'],
    [{ image_list: `some/lab@${digestB}` }, 'image_list'],
    [{ image_list: `some/lab:latest_weekly@${digestB}` }, 'image_list'],
  ])('refuses an image of another cycle: %j', async (options, option) => {
    expect(await refusal(world, options)).toMatchObject({ status: 422, type: 'invalid', loc: at(option) })
  })
})

describe('catalogue and prepulls', () => {
  it('answer 503 with Retry-After before the registry was read', async () => {
    const images = imagesOf({ catalogue: null })
    for (const asking of [images.catalogue(), images.prepulls()]) {
      await expect(asking).rejects.toMatchObject({ status: 503, headers: { 'Retry-After': '5' } })
    }
  })

  it('answer 503 while Redis is away', async () => {
    await expect(imagesOf({ redisAway: true }).catalogue()).rejects.toMatchObject({ status: 503 })
    await expect(resolve({ redisAway: true }, { image_type: 'recommended' })).rejects.toMatchObject({ status: 503 })
  })

  it('return the catalogue, and nothing as prepulled without a prepuller', async () => {
    const images = imagesOf({ catalogue: catalogueOf({ prepull: [recommended] }) })
    expect((await images.catalogue()).prepull).toEqual([recommended])
    expect(await images.prepulls()).toEqual({
      ...{ prepulled: [], nodes: [] },
      pending: [{ image: recommended, nodes: [], missing: [] }],
    })
  })
})
