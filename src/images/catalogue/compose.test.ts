import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema.ts'
import type { ListedTag } from '../registry/source.ts'
import { plainTags } from '../testing/arbitraries.ts'
import { Repository } from '../testing/repository.ts'
import { buildCatalogue, digestsWanted, displayNameOf } from './compose.ts'
import type { Catalogue, CatalogueImage } from './types.ts'

const nowMs = Date.parse('2026-07-24T12:00:00Z')

const imagesOf = (images: object = {}) => configSchema.parse({ images }).images
const tagsOf = (images: readonly CatalogueImage[]) => images.map(({ tag }) => tag)
const typesOf = ({ types }: Catalogue) =>
  Object.fromEntries(Object.entries(types).map(([type, image]) => [type, image.tag]))
const named = (...tags: string[]): ListedTag[] => tags.map(tag => ({ tag }))

describe('the images of a Docker registry, configured as in the specification', () => {
  const images = imagesOf({
    registry: 'registry.hub.docker.com',
    docker: { repository: 'lsstsqre/sciplat-lab' },
    recommendedTag: 'recommended',
    numReleases: 1,
    numWeeklies: 2,
    numDailies: 3,
  })
  const repository = new Repository({ aliases: { recommended: 'w_2026_29' } })
  const wanted = digestsWanted(images, repository.names())
  const catalogue = buildCatalogue(images, repository.names(wanted), nowMs)

  it('have more than a thousand tags', () => {
    expect(repository.tags.length).toBeGreaterThan(1000)
  })

  it('need few requests for digests', () => {
    expect(wanted).toEqual([
      'recommended',
      'w_2026_30',
      'd_2026_07_24',
      'r29_1_4',
      'w_2026_29',
      'd_2026_07_23',
      'd_2026_07_22',
    ])
    expect(digestsWanted(images, repository.names(wanted))).toEqual([])
  })

  it('resolve each type', () => {
    expect(typesOf(catalogue)).toEqual({
      recommended: 'recommended',
      'latest-weekly': 'w_2026_30',
      'latest-daily': 'd_2026_07_24',
      'latest-release': 'r29_1_4',
    })
    expect(catalogue.types.recommended).toEqual({
      reference: 'registry.hub.docker.com/lsstsqre/sciplat-lab:recommended',
      tag: 'recommended',
      aliases: ['w_2026_29'],
      name: 'Recommended (Weekly 2026_29)',
      digest: repository.digestOf('w_2026_29'),
    })
    expect(catalogue.readAtMs).toBe(nowMs)
  })

  it('prepull the recommended image and the latest of each kind, none twice', () => {
    expect(tagsOf(catalogue.prepull)).toEqual([
      'recommended',
      'r29_1_4',
      'w_2026_30',
      'd_2026_07_24',
      'd_2026_07_23',
      'd_2026_07_22',
    ])
  })

  it('are all listed, in their order', () => {
    const tags = tagsOf(catalogue.all)
    expect(new Set(tags)).toEqual(new Set(repository.tags.filter(tag => tag !== 'recommended')))
    expect(tags.slice(0, 2)).toEqual(['r29_1_4', 'r29_1_3'])
    expect(tags.slice(100, 104)).toEqual(['w_2026_30', 'w_2026_29', 'w_2026_28', 'w_2026_27'])
    expect(tags.at(-1)).toBe('mine')
    expect(catalogue.all.find(({ tag }) => tag === 'w_2026_29')).toMatchObject({ aliases: ['recommended'] })
    expect(catalogue.all.find(({ tag }) => tag === 'w_2026_28')).toMatchObject({ digest: null, aliases: [] })
    expect(tags.filter(tag => tag.endsWith('-amd64')).length).toBe(100)
  })

  it('are all in the menu if they are for every architecture', () => {
    expect(tagsOf(catalogue.menu)).toEqual(tagsOf(catalogue.all).filter(tag => !tag.includes('-')))
  })
})

describe('the images of Artifact Registry, configured as in the specification', () => {
  const images = imagesOf({
    registry: 'us-central1-docker.pkg.dev',
    gar: {
      repository: 'sciplat',
      image: 'sciplat-lab',
      projectId: 'rubin-shared-services-71ec',
      location: 'us-central1',
    },
    recommendedTag: 'recommended',
    numReleases: 1,
    numWeeklies: 2,
    numDailies: 3,
    pins: ['w_2022_22', 'w_2022_04'],
  })
  const repository = new Repository({ aliases: { recommended: 'w_2025_50', mine_too: 'w_2025_50' } })
  const catalogue = buildCatalogue(images, repository.whole(), nowMs)

  it('need no request for digests, which the list contains', () => {
    expect(digestsWanted(images, repository.whole())).toEqual([])
  })

  it('include the recommended image under any of its tags', () => {
    expect(catalogue.types.recommended).toEqual({
      reference: 'us-central1-docker.pkg.dev/rubin-shared-services-71ec/sciplat/sciplat-lab:recommended',
      tag: 'recommended',
      aliases: ['mine_too', 'w_2025_50'],
      name: 'Recommended (Weekly 2025_50)',
      digest: repository.digestOf('w_2025_50'),
      sizeBytes: 4_000_000_000,
    })
  })

  it('prepull pins of any age', () => {
    expect(tagsOf(catalogue.prepull)).toEqual([
      'recommended',
      'r29_1_4',
      'w_2026_30',
      'w_2026_29',
      'w_2022_22',
      'w_2022_04',
      'd_2026_07_24',
      'd_2026_07_23',
      'd_2026_07_22',
    ])
  })
})

describe('the images of one cycle, configured as in the specification', () => {
  const images = imagesOf({
    registry: 'ts-dockerhub.lsst.org',
    docker: { repository: 'sal-sciplat-lab' },
    recommendedTag: 'recommended_c0026',
    numReleases: 0,
    numWeeklies: 3,
    numDailies: 2,
    cycle: 26,
    aliasTags: ['latest', 'latest_daily', 'latest_weekly'],
  })
  const repository = new Repository({
    suffixes: ['', '_c0025.001', '_c0026.001', '_c0026.002', '_c0027.001'],
    aliases: {
      recommended_c0026: 'w_2026_30_c0026.001',
      latest: 'w_2026_30_c0027.001',
      latest_daily: 'd_2026_07_24_c0026.002',
      latest_weekly: 'w_2026_30_c0026.002',
    },
  })
  const wanted = digestsWanted(images, repository.names())
  const catalogue = buildCatalogue(images, repository.names(wanted), nowMs)

  it('need digests of aliases too', () => {
    expect(wanted).toEqual([
      'recommended_c0026',
      'w_2026_30_c0026.002',
      'd_2026_07_24_c0026.002',
      'w_2026_30_c0026.001',
      'w_2026_29_c0026.002',
      'd_2026_07_24_c0026.001',
      'latest',
      'latest_daily',
      'latest_weekly',
    ])
  })

  it('include no image of another cycle', () => {
    expect(typesOf(catalogue)).toEqual({
      recommended: 'recommended_c0026',
      'latest-weekly': 'w_2026_30_c0026.002',
      'latest-daily': 'd_2026_07_24_c0026.002',
    })
    for (const { tag } of catalogue.all) expect(tag).toContain('_c0026.')
    expect(catalogue.all.length).toBeGreaterThan(1000)
    expect(catalogue.all.find(({ tag }) => tag === 'w_2026_30_c0026.002')!.aliases).toEqual(['latest_weekly'])
  })

  it('prepull this cycle only, and no alias beside its image', () => {
    expect(tagsOf(catalogue.prepull)).toEqual([
      'recommended_c0026',
      'w_2026_30_c0026.002',
      'w_2026_29_c0026.002',
      'd_2026_07_24_c0026.002',
      'd_2026_07_24_c0026.001',
    ])
    expect(catalogue.prepull[0]!.name).toBe('Recommended (Weekly 2026_30, SAL Cycle 0026, Build 001)')
  })

  it('take the cycle of an alias from its name when digests are unknown', () => {
    const unknown = buildCatalogue(images, repository.names(), nowMs)
    expect(unknown.types.recommended).toMatchObject({ name: 'Recommended (SAL Cycle 0026)', digest: null, aliases: [] })
    expect(tagsOf(unknown.all).filter(tag => tag.startsWith('latest'))).toEqual([])
  })
})

describe('buildCatalogue', () => {
  it.each([
    [['w_2021_1', 'd_2021_01_01', 'r1_0_0'], 'r1_0_0'],
    [['w_2021_1', 'd_2021_01_01', 'r1_0_0-amd64', 'r1_0_0_rc1'], 'w_2021_1'],
    [['d_2021_01_01', 'exp_x'], 'd_2021_01_01'],
  ])('given %j recommends %s when the recommended tag is missing', (tags, tag) => {
    const { types, prepull } = buildCatalogue(imagesOf({ numReleases: 0 }), named(...tags), nowMs)
    expect(types.recommended?.tag).toBe(tag)
    expect(prepull[0]?.tag).toBe(tag)
  })

  it('leaves out types without an image', () => {
    expect(buildCatalogue(imagesOf(), named('exp_x', 'mine', 'r1_0_0_rc1'), nowMs).types).toEqual({})
    expect(buildCatalogue(imagesOf(), [], nowMs)).toEqual({
      types: {},
      prepull: [],
      menu: [],
      all: [],
      readAtMs: nowMs,
    })
  })

  it('leaves out pins that the repository lacks, and pins of another cycle', () => {
    const images = imagesOf({ pins: ['w_2021_1_c0001.001', 'w_2020_1', 'w_1999_1'], cycle: 1, numWeeklies: 0 })
    const { prepull } = buildCatalogue(images, named('w_2021_2_c0001.001', 'w_2021_1_c0001.001', 'w_2020_1'), nowMs)
    expect(tagsOf(prepull)).toEqual(['w_2021_2_c0001.001', 'w_2021_1_c0001.001'])
  })

  it('prepulls images for one architecture only if they are pinned or recommended', () => {
    const listed = named('recommended-arm64', 'w_2021_3-amd64', 'w_2021_2-amd64', 'w_2021_1')
    const images = imagesOf({ recommendedTag: 'recommended-arm64', pins: ['w_2021_2-amd64'], numWeeklies: 1 })
    const { prepull, types } = buildCatalogue(images, listed, nowMs)
    expect(tagsOf(prepull)).toEqual(['recommended-arm64', 'w_2021_2-amd64', 'w_2021_1'])
    expect(types['latest-weekly']?.tag).toBe('w_2021_1')
  })

  it('lists no alias tag, except the recommended one when its image is not offered', () => {
    const digests: Record<string, string> = {
      w_2026_29: 'a',
      w_2026_30: 'b',
      recommended: 'a',
      latest: 'b',
      stable: 'c',
    }
    const listed = Object.entries(digests).map(([tag, digest]) => ({ tag, digest }))
    const images = imagesOf({ aliasTags: ['latest', 'stable'], menu: { weekly: { number: 1 } } })
    const { menu, all } = buildCatalogue(images, [...listed, { tag: 'mine' }], nowMs)
    expect(tagsOf(menu)).toEqual(['recommended', 'w_2026_30', 'mine'])
    expect(tagsOf(all)).toEqual(['w_2026_30', 'w_2026_29', 'mine'])
    expect(all[0]!.aliases).toEqual(['latest'])
  })

  it.each([
    ['whose digest was not asked for', named('latest_daily', 'w_2026_30')],
    ['of an image that no other tag names', [{ tag: 'latest_daily', digest: 'a' }, ...named('w_2026_30')]],
    [
      'of an image that the menu does not offer',
      [
        { tag: 'latest_daily', digest: 'a' },
        { tag: 'w_2026_29', digest: 'a' },
      ],
    ],
    [
      'beside another alias of the same image',
      [
        { tag: 'latest_daily', digest: 'a' },
        { tag: 'latest_weekly', digest: 'a' },
      ],
    ],
  ])('lists no alias tag %s', (_, listed) => {
    const images = imagesOf({ aliasTags: ['latest_daily', 'latest_weekly'], menu: { weekly: { number: 0 } } })
    const { menu, all, types, prepull } = buildCatalogue(images, listed, nowMs)
    for (const { tag } of [...menu, ...all, ...prepull, ...Object.values(types)]) expect(tag).not.toMatch(/^latest/)
  })

  it('recommends an alias tag when it is the recommended tag', () => {
    const images = imagesOf({ recommendedTag: 'latest', aliasTags: ['latest'] })
    const { types, all } = buildCatalogue(images, named('latest', 'w_2026_30'), nowMs)
    expect(types.recommended?.tag).toBe('latest')
    expect(tagsOf(all)).toEqual(['w_2026_30'])
  })

  it('judges ages by the given time', () => {
    const images = imagesOf({ menu: { daily: { age: '2d' } } })
    const listed = named('d_2026_07_24', 'd_2026_07_22')
    const menuAt = (moment: string) => tagsOf(buildCatalogue(images, listed, Date.parse(moment)).menu)
    expect(menuAt('2026-07-24T00:00:00Z')).toEqual(['d_2026_07_24', 'd_2026_07_22'])
    expect(menuAt('2026-07-24T00:00:01Z')).toEqual(['d_2026_07_24'])
  })

  it('lists each image exactly once, whatever the order of tags', () => {
    const entry = fc.record({ tag: plainTags, digest: fc.constantFrom('sha256:a', 'sha256:b', undefined) })
    const lists = fc.uniqueArray(entry, { selector: ({ tag }) => tag, maxLength: 16 })
    const shuffled = lists.chain(list =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
    )
    const asListed = ({ tag, digest }: { tag: string; digest: string | undefined }) =>
      digest ? { tag, digest } : { tag }
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        const tags = list.map(({ tag }) => tag)
        const images = imagesOf({ recommendedTag: tags[0] ?? 'x', pins: tags.slice(2, 5), aliasTags: tags.slice(4, 6) })
        const catalogue = buildCatalogue(images, list.map(asListed), nowMs)
        expect(buildCatalogue(images, other.map(asListed), nowMs)).toEqual(catalogue)
        const prepulled = catalogue.prepull.map(({ digest, tag }) => digest ?? tag)
        expect(new Set(prepulled).size).toBe(prepulled.length)
        const listed = new Set(catalogue.all.flatMap(({ tag, aliases }) => [tag, ...aliases]))
        const isAlias = (tag: string) => images.aliasTags.includes(tag)
        expect(tags.filter(tag => !isAlias(tag) && !listed.has(tag))).toEqual([])
        expect(catalogue.all.filter(({ tag }) => isAlias(tag))).toEqual([])
        expect(catalogue.all).toEqual(expect.arrayContaining([...catalogue.menu]))
        expect(catalogue.types.recommended?.tag).toBe(tags[0])
      }),
    )
  })
})

describe('digestsWanted', () => {
  it('returns tags of the repository, at most 20', () => {
    const weeklies = Array.from({ length: 40 }, (_, i) => `w_2021_${i + 1}`)
    const images = imagesOf({ numWeeklies: 30, pins: ['w_1999_1'], aliasTags: ['latest', 'stable'] })
    const wanted = digestsWanted(images, named(...weeklies, 'latest', 'd_2021_01_01'))
    expect(wanted.length).toBe(20)
    expect(wanted.slice(0, 4)).toEqual(['w_2021_40', 'd_2021_01_01', 'w_2021_39', 'w_2021_38'])
    expect(digestsWanted(imagesOf({ ...images, numWeeklies: 1 }), named(...weeklies, 'latest'))).toEqual([
      'w_2021_40',
      'latest',
    ])
  })
})

describe('displayNameOf', () => {
  it.each([
    ['recommended', 'Recommended'],
    ['latest_weekly', 'Latest Weekly'],
    ['latest_daily', 'latest_daily'],
    ['r24_0_0_rc1', 'Release Candidate r24.0.0-rc1'],
    ['constructor', 'constructor'],
  ])('for %s is %s', (tag, name) => {
    expect(displayNameOf(imagesOf({ aliasTags: ['latest_weekly'] }), tag)).toBe(name)
  })
})
