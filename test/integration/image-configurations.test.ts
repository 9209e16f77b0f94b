/**
 * Two of the example configurations of SQR-066 ("Prepulling", "Configuration"), with tags of some years in registries: the
 * answers of two replicas, and the labs' images. The third is in `image-cycle.test.ts`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImagesJson, PrepullsJson } from '../../src/api/images/json.ts'
import { eventually } from '../kit/cluster/world.ts'
import { hasDockerRegistry, type RealRegistry, startDockerRegistry } from '../kit/images/docker-registry.ts'
import { FakeGoogle } from '../kit/images/google.ts'
import { dailiesFrom, weekliesFrom } from '../kit/images/tags.ts'
import { pushImages, removeImage } from '../kit/images/tiny-images.ts'
import {
  bothAnswer,
  distinct,
  expectVanished,
  formOf,
  fromMenu,
  prepullsAre,
  pulledFor,
  useInstallation,
} from '../kit/prepull/image-site.ts'
import { testBed } from '../kit/testbed.ts'

const weeklies = weekliesFrom(2026, 46, 550)
const dailies = dailiesFrom('2026-11-20', 450)
/** Tags in the order of SQR-059. */
const ofAllKinds = [
  ...['r29_1_1', 'r29_1_0', 'r28_0_2', 'r170', ...weeklies, ...dailies],
  ...['r30_0_0_rc10', 'r30_0_0_rc2', 'exp_w_2026_45_nosudo', 'my_branch'],
]

/** Display names of the named tags; weeklies and dailies otherwise by their tag. */
const names: Readonly<Record<string, string>> = {
  r29_1_1: 'Release r29.1.1',
  r29_1_0: 'Release r29.1.0',
  r28_0_2: 'Release r28.0.2',
  r170: 'Release r17.0.0',
  r30_0_0_rc10: 'Release Candidate r30.0.0-rc10',
  r30_0_0_rc2: 'Release Candidate r30.0.0-rc2',
  exp_w_2026_45_nosudo: 'Experimental Weekly 2026_45 [nosudo]',
  my_branch: 'my_branch',
}
const nameOf = (tag: string) => names[tag] ?? `${tag.startsWith('w') ? 'Weekly' : 'Daily'} ${tag.slice(2)}`

let registry: RealRegistry
beforeAll(async () => {
  if (hasDockerRegistry) registry = await startDockerRegistry()
})
afterAll(() => registry?.stop())

describe.skipIf(!hasDockerRegistry)('images of a registry with Docker’s protocol', () => {
  const repository = 'lsstsqre/sciplat-lab'
  let digests: ReadonlyMap<string, string>
  const nodes = { a: { kwok: true }, b: { kwok: true }, full: {}, cordoned: { cordoned: true } }
  const { fleet, site } = useInstallation(nodes, async () => {
    const images = distinct(ofAllKinds, { recommended: 'w_2026_45' })
    digests = await pushImages({ registry: registry.address, repository, images })
    return {
      registry: registry.address,
      docker: { repository },
      recommendedTag: 'recommended',
      numReleases: 1,
      numWeeklies: 2,
      numDailies: 3,
      refreshIntervalSeconds: 3600,
    }
  })
  const referenceOf = (tag: string) => `${registry.address}/${repository}:${tag}`
  const whole = (tag: string) => `${referenceOf(tag)}@${digests.get(tag)}`
  const readings = () => registry.asked().filter(line => line.startsWith('GET ') && line.includes('/tags/list'))

  /** The one daily that does not fit on one of the nodes. */
  const late = 'd_2026_11_18'
  const prepulled = ['recommended', 'r29_1_1', 'w_2026_46', 'd_2026_11_20', 'd_2026_11_19']
  /** Tags with a digest: only those that are prepulled or requested. */
  const known = new Set([...prepulled, late, 'w_2026_45'])

  const image = (tag: string) => ({
    reference: referenceOf(tag),
    tag,
    aliases: tag === 'w_2026_45' ? ['recommended'] : [],
    name: nameOf(tag),
    digest: known.has(tag) ? digests.get(tag)! : null,
    prepulled: known.has(tag) && tag !== late,
  })
  const images = (): ImagesJson => ({
    recommended: {
      reference: referenceOf('recommended'),
      tag: 'recommended',
      aliases: ['w_2026_45'],
      name: 'Recommended (Weekly 2026_45)',
      digest: digests.get('w_2026_45')!,
      prepulled: true,
    },
    'latest-weekly': image('w_2026_46'),
    'latest-daily': image('d_2026_11_20'),
    'latest-release': image('r29_1_1'),
    all: ofAllKinds.map(image),
  })
  const prepulls = (): PrepullsJson => {
    const [a, b, full, cordoned] = Object.keys(nodes).map(node => site().name(node)) as [string, string, string, string]
    const shown = (tag: string) => ({
      reference: referenceOf(tag),
      tag,
      name: tag === 'recommended' ? 'Recommended (Weekly 2026_45)' : nameOf(tag),
      digest: digests.get(tag)!,
    })
    const cached = (...tags: string[]) => tags.map(referenceOf).sort()
    return {
      config: {
        registry: registry.address,
        docker: { repository: 'lsstsqre/sciplat-lab' },
        recommended_tag: 'recommended',
        num_releases: 1,
        num_weeklies: 2,
        num_dailies: 3,
      },
      images: {
        prepulled: prepulled.map(tag => ({ ...shown(tag), size: 1000, nodes: [a, b, full] })),
        pending: [{ ...shown(late), nodes: [a, b], missing: [full] }],
      },
      nodes: [
        { name: a, eligible: true, cached: cached(...prepulled, late) },
        { name: b, eligible: true, cached: cached(...prepulled, late) },
        { name: cordoned, eligible: false, comment: 'It is cordoned', cached: [] },
        { name: full, eligible: true, cached: cached(...prepulled) },
      ],
    }
  }

  test('are listed with every field, as one of the replicas read them once', async () => {
    await site().listImages(
      'full',
      prepulled.map(tag => [`${registry.address}/${repository}@${digests.get(tag)}`]),
    )
    await prepullsAre(fleet(), site(), prepulls())
    await bothAnswer(fleet(), 'images', images())
    const { body } = await fleet().admin.request<ImagesJson>('images')
    expect(Object.keys(body)).toEqual(['recommended', 'latest-weekly', 'latest-daily', 'latest-release', 'all'])
    const looks = registry.asked().filter(line => /^(GET|HEAD) /.test(line))
    expect(looks.sort()).toEqual(
      [
        `GET /v2/${repository}/tags/list?n=1000`,
        ...[...known].map(tag => `HEAD /v2/${repository}/manifests/${tag}`),
      ].sort(),
    )
  })

  test('are listed the same when Redis was emptied', async () => {
    await fleet().world.redis.flushall()
    await eventually('another reading', async () => readings().length > 1)
    await prepullsAre(fleet(), site(), prepulls())
    await bothAnswer(fleet(), 'images', images())
    expect(readings()).toHaveLength(2)
  })

  test('become labs as requested', async () => {
    expect(await pulledFor(fleet(), { image_type: 'recommended' })).toBe(whole('recommended'))
    expect(await pulledFor(fleet(), { image_type: 'latest-weekly' })).toBe(whole('w_2026_46'))
    expect(await pulledFor(fleet(), { image_type: 'latest-daily' })).toBe(whole('d_2026_11_20'))
    expect(await pulledFor(fleet(), { image_type: 'latest-release' })).toBe(whole('r29_1_1'))
    expect(await pulledFor(fleet(), { image_tag: 'w_2019_07' })).toBe(whole('w_2019_07'))
    const { radios, menu } = await formOf(fleet())
    expect(radios).toEqual([...prepulled.map(referenceOf), 'use_image_from_dropdown'])
    expect(menu).toEqual(ofAllKinds.map(referenceOf))
    expect(await pulledFor(fleet(), fromMenu(menu.at(-1)!))).toBe(whole('my_branch'))
    expect(await pulledFor(fleet(), { image_list: radios[4]! })).toBe(whole('d_2026_11_19'))
  })

  test('follow a tag that moved, even when the form had its former image', async () => {
    expect((await formOf(fleet())).menu).toContain(referenceOf(late))
    const images = new Map([[late, 'another image']])
    const moved = await pushImages({ registry: registry.address, repository, images })
    expect(moved.get(late)).not.toBe(digests.get(late))
    expect(await pulledFor(fleet(), fromMenu(referenceOf(late)))).toBe(`${referenceOf(late)}@${moved.get(late)}`)
  })

  test('are refused when they have vanished since the form was made', async () => {
    const tag = 'w_2026_40'
    expect((await formOf(fleet())).menu).toContain(referenceOf(tag))
    await removeImage(registry.address, repository, digests.get(tag)!)
    await expectVanished(fleet(), fromMenu(referenceOf(tag)), tag)
    await expectVanished(fleet(), { image_tag: tag }, tag)
  })
})

describe('images of Google Artifact Registry, with pins', () => {
  let google: FakeGoogle
  afterAll(() => google?.server.stop())
  const repository = 'rubin-shared-services-71ec/sciplat/sciplat-lab'
  const { fleet, site } = useInstallation({ a: { kwok: true } }, async () => {
    google = await FakeGoogle.start('rubin-shared-services-71ec')
    google.images = ofAllKinds.map((tag, number) => imageAt(repository, number, tag))
    google.images.push(imageAt('rubin-shared-services-71ec/sciplat/another', 5000, 'w_2026_47'))
    const credentialsFile = join(testBed().stateDir, `google-${process.pid}.json`)
    writeFileSync(credentialsFile, google.key(), { mode: 0o600 })
    return {
      registry: 'us-central1-docker.pkg.dev',
      docker: undefined,
      gar: google.gar(),
      recommendedTag: 'recommended',
      numReleases: 1,
      numWeeklies: 2,
      numDailies: 3,
      pins: ['w_2022_22', 'w_2022_04'],
      refreshIntervalSeconds: 3600,
      credentialsFile,
    }
  })

  const digestOf = (number: number) => `sha256:${number.toString(16).padStart(64, '0')}`
  const imageAt = (path: string, number: number, tag: string) => ({
    uri: `us-central1-docker.pkg.dev/${path}@${digestOf(number)}`,
    tags: tag === 'w_2026_40' ? ['recommended', tag] : [tag],
    imageSizeBytes: String(4_000_000_000 + number),
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
  })
  const numberOf = (tag: string) => ofAllKinds.indexOf(tag === 'recommended' ? 'w_2026_40' : tag)
  const referenceOf = (tag: string) => `us-central1-docker.pkg.dev/${repository}:${tag}`
  const whole = (tag: string) => `${referenceOf(tag)}@${digestOf(numberOf(tag))}`
  const named = (tag: string) => (tag === 'recommended' ? 'Recommended (Weekly 2026_40)' : nameOf(tag))
  const prepulled = [
    ...['recommended', 'r29_1_1', 'w_2026_46', 'w_2026_45', 'w_2022_22', 'w_2022_04'],
    ...['d_2026_11_20', 'd_2026_11_19', 'd_2026_11_18'],
  ]

  test('are listed with every field, with all digests and sizes, after two requests', async () => {
    const name = site().name('a')
    const image = (tag: string) => ({
      reference: referenceOf(tag),
      tag,
      name: named(tag),
      digest: digestOf(numberOf(tag)),
    })
    await prepullsAre(fleet(), site(), {
      config: {
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
      images: {
        prepulled: prepulled.map(tag => ({ ...image(tag), size: 4_000_000_000 + numberOf(tag), nodes: [name] })),
        pending: [],
      },
      nodes: [{ name, eligible: true, cached: prepulled.map(referenceOf).sort() }],
    })
    const aliases: Readonly<Record<string, string[]>> = { recommended: ['w_2026_40'], w_2026_40: ['recommended'] }
    const onNodes = new Set([...prepulled, 'w_2026_40'])
    const full = (tag: string) => ({ ...image(tag), aliases: aliases[tag] ?? [], prepulled: onNodes.has(tag) })
    await bothAnswer<ImagesJson>(fleet(), 'images', {
      recommended: full('recommended'),
      'latest-weekly': full('w_2026_46'),
      'latest-daily': full('d_2026_11_20'),
      'latest-release': full('r29_1_1'),
      all: ofAllKinds.map(full),
    })
    expect(google.questions.map(line => /pageToken=(\d+)/.exec(line)?.[1])).toEqual([undefined, '1000'])
  })

  test('become labs as requested, and are refused when they have vanished', async () => {
    expect(await pulledFor(fleet(), { image_type: 'recommended' })).toBe(whole('recommended'))
    expect(await pulledFor(fleet(), { image_type: 'latest-weekly' })).toBe(whole('w_2026_46'))
    expect(await pulledFor(fleet(), { image_tag: 'w_2022_04' })).toBe(whole('w_2022_04'))
    const { radios, menu } = await formOf(fleet())
    expect(radios).toEqual([...prepulled.map(referenceOf), 'use_image_from_dropdown'])
    expect(await pulledFor(fleet(), fromMenu(menu.at(-1)!))).toBe(whole('my_branch'))
    google.images = google.images.filter(({ tags }) => !tags?.includes('w_2026_30'))
    await expectVanished(fleet(), fromMenu(referenceOf('w_2026_30')), 'w_2026_30')
  })
})
