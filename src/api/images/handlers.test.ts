/** Field by field against the examples of SQR-066, "Prepulling". */
import { describe, expect, it } from 'vitest'
import { api, detailOf, scriptedImages } from '../../../test/kit/api/scripted-api.ts'
import { catalogueOf, imageOf } from '../../../test/kit/images/catalogue.ts'
import { unavailable } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import type { Catalogue, PrepullStatus } from '../../images/catalogue/types.ts'
import { imageList, prepullStatus } from './schemas.ts'

const digest = `sha256:${'1'.repeat(64)}`
const other = `sha256:${'2'.repeat(64)}`
const recommended = imageOf('recommended', { name: 'Recommended', digest, sizeBytes: 7, aliases: ['w_2022_22'] })
const weekly = imageOf('w_2022_22', {
  name: 'Weekly 2022_22',
  digest,
  sizeBytes: 7,
  aliases: ['recommended', 'latest'],
})
const daily = imageOf('d_2022_06_01', { name: 'Daily 2022_06_01' })
const release = imageOf('r23_0_1', { name: 'Release r23.0.1', digest: other })
const types = { recommended, 'latest-weekly': weekly, 'latest-daily': daily, 'latest-release': release }
const all = [release, weekly, daily]
const catalogue = catalogueOf({ types, prepull: [recommended, release, weekly, daily], menu: all, all })

const status: PrepullStatus = {
  prepulled: [{ image: recommended, nodes: ['node-a', 'node-b'], missing: [] }],
  pending: [
    { image: release, nodes: [], missing: ['node-a', 'node-b'], error: 'no such image' },
    { image: daily, nodes: ['node-a'], missing: ['node-b'] },
  ],
  nodes: [
    { name: 'node-a', eligible: true, cached: [recommended.reference] },
    { name: 'node-c', eligible: false, comment: 'it is cordoned', cached: [] },
  ],
}

function callWith(
  images: object = {},
  { catalogue: read = catalogue, prepulls = status }: { catalogue?: Catalogue; prepulls?: PrepullStatus } = {},
) {
  const script = scriptedImages({ catalogue: async () => read, prepulls: async () => prepulls })
  return api({}, { images: script, config: configSchema.parse({ images }) })
}

describe('GET images', () => {
  it('returns the example of SQR-066', async () => {
    const response = await callWith()('GET', 'images', 'hub')
    expect(response.status).toBe(200)
    const body = (await response.json()) as Record<string, unknown>
    const { recommended, ...rest } = body
    expect(recommended).toEqual({
      reference: 'example.org/some/lab:recommended',
      tag: 'recommended',
      aliases: ['w_2022_22'],
      name: 'Recommended',
      digest,
      prepulled: true,
    })
    expect(rest).toEqual({
      'latest-weekly': {
        reference: 'example.org/some/lab:w_2022_22',
        tag: 'w_2022_22',
        aliases: ['recommended', 'latest'],
        name: 'Weekly 2022_22',
        digest,
        prepulled: true,
      },
      'latest-daily': {
        reference: 'example.org/some/lab:d_2022_06_01',
        tag: 'd_2022_06_01',
        aliases: [],
        name: 'Daily 2022_06_01',
        digest: null,
        prepulled: false,
      },
      'latest-release': {
        reference: 'example.org/some/lab:r23_0_1',
        tag: 'r23_0_1',
        aliases: [],
        name: 'Release r23.0.1',
        digest: other,
        prepulled: false,
      },
      all: [rest['latest-release'], rest['latest-weekly'], rest['latest-daily']],
    })
    expect(Object.keys(body)).toEqual(['recommended', 'latest-weekly', 'latest-daily', 'latest-release', 'all'])
    expect(imageList.strict().parse(body)).toEqual(body)
  })

  it('leaves out types without an image', async () => {
    const response = await callWith({}, { catalogue: catalogueOf({ all: [daily] }) })('GET', 'images', 'hub')
    expect(Object.keys((await response.json()) as object)).toEqual(['all'])
  })

  it('lists an image without digest by its reference', async () => {
    const prepulls = { ...status, prepulled: [{ image: daily, nodes: ['node-a'], missing: [] }], pending: [] }
    const body = await (await callWith({}, { prepulls })('GET', 'images', 'hub')).json()
    expect(body).toMatchObject({ 'latest-daily': { prepulled: true }, recommended: { prepulled: false } })
  })
})

it('GET images reads catalogue and prepulls together, with one look at the catalogue', async () => {
  const asked: string[] = []
  const both = Promise.withResolvers<void>()
  const awaitBoth = async (what: string) => {
    asked.push(what)
    if (asked.length === 2) both.resolve()
    // With one read after the other, this would wait for ever.
    await both.promise
  }
  const images = scriptedImages({
    catalogue: () => awaitBoth('catalogue').then(() => catalogue),
    prepulls: () => awaitBoth('prepulls').then(() => status),
  })
  expect((await api({}, { images })('GET', 'images', 'hub')).status).toBe(200)
  expect(asked.sort()).toEqual(['catalogue', 'prepulls'])
})

describe('GET prepulls', () => {
  const bodyWith = async (images: object) => {
    const response = await callWith(images)('GET', 'prepulls', 'hub')
    expect(response.status).toBe(200)
    return (await response.json()) as { config: unknown; images: unknown; nodes: unknown }
  }

  it('returns the example of SQR-066', async () => {
    const body = await bodyWith({})
    expect(Object.keys(body)).toEqual(['config', 'images', 'nodes'])
    expect(body.images).toEqual({
      prepulled: [
        {
          reference: 'example.org/some/lab:recommended',
          tag: 'recommended',
          name: 'Recommended',
          digest,
          size: 7,
          nodes: ['node-a', 'node-b'],
        },
      ],
      pending: [
        {
          reference: 'example.org/some/lab:r23_0_1',
          tag: 'r23_0_1',
          name: 'Release r23.0.1',
          digest: other,
          nodes: [],
          missing: ['node-a', 'node-b'],
          error: 'no such image',
        },
        {
          reference: 'example.org/some/lab:d_2022_06_01',
          tag: 'd_2022_06_01',
          name: 'Daily 2022_06_01',
          digest: null,
          nodes: ['node-a'],
          missing: ['node-b'],
        },
      ],
    })
    expect(body.nodes).toEqual([
      { name: 'node-a', eligible: true, cached: ['example.org/some/lab:recommended'] },
      { name: 'node-c', eligible: false, comment: 'it is cordoned', cached: [] },
    ])
    expect(prepullStatus.strict().parse(body)).toEqual(body)
  })

  it.each([
    [
      {
        registry: 'registry.hub.docker.com',
        docker: { repository: 'lsstsqre/sciplat-lab' },
        recommendedTag: 'recommended',
        numReleases: 1,
        numWeeklies: 2,
        numDailies: 3,
      },
      {
        registry: 'registry.hub.docker.com',
        docker: { repository: 'lsstsqre/sciplat-lab' },
        recommended_tag: 'recommended',
        num_releases: 1,
        num_weeklies: 2,
        num_dailies: 3,
      },
    ],
    [
      {
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
      },
      {
        registry: 'us-central1-docker.pkg.dev',
        gar: {
          repository: 'sciplat',
          image: 'sciplat-lab',
          project_id: 'rubin-shared-services-71ec',
          location: 'us-central1',
        },
        recommended_tag: 'recommended',
        num_releases: 1,
        num_weeklies: 2,
        num_dailies: 3,
        pins: ['w_2022_22', 'w_2022_04'],
      },
    ],
    [
      {
        registry: 'ts-dockerhub.lsst.org',
        docker: { repository: 'sal-sciplat-lab' },
        recommendedTag: 'recommended_c0026',
        numReleases: 0,
        numWeeklies: 3,
        numDailies: 2,
        cycle: 26,
        aliasTags: ['latest', 'latest_daily', 'latest_weekly'],
      },
      {
        registry: 'ts-dockerhub.lsst.org',
        docker: { repository: 'sal-sciplat-lab' },
        recommended_tag: 'recommended_c0026',
        num_releases: 0,
        num_weeklies: 3,
        num_dailies: 2,
        cycle: 26,
        alias_tags: ['latest', 'latest_daily', 'latest_weekly'],
      },
    ],
  ])('returns the configuration of SQR-066: %#', async (images, config) => {
    expect((await bodyWith(images)).config).toEqual(config)
  })

  it('returns no file names and nothing of our own of the configuration', async () => {
    const { config } = await bodyWith({ caFile: 'ca.pem', credentialsFile: 'hidden.json', maxTags: 7, plainHttp: true })
    expect(JSON.stringify(config)).not.toMatch(/ca\.pem|hidden|7|plain/)
  })
})

describe('GET images and GET prepulls', () => {
  it.each(['images', 'prepulls'])('GET %s is 503 before the registry was read', async path => {
    const response = await api()('GET', path, 'hub')
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect((await detailOf(response)).type).toBe('unavailable')
  })

  it.each(['images', 'prepulls'])('GET %s is 503 while Redis is away', async path => {
    const away = async () => {
      throw unavailable('Redis does not answer')
    }
    const response = await api({}, { images: scriptedImages({ catalogue: away, prepulls: away }) })('GET', path, 'hub')
    expect(response.status).toBe(503)
  })

  it.each(['images', 'prepulls'])('%s has only GET and HEAD', async path => {
    const call = callWith()
    expect((await call('POST', path, 'hub')).headers.get('allow')).toBe('GET, HEAD')
    const head = await call('HEAD', path, 'hub')
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})
