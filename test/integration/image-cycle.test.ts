/**
 * The configuration of SQR-066 ("Prepulling", "Configuration") that limits images to a cycle and knows aliases, with a real
 * registry that is read all the time: also while it is down, and when the replica that reads it is killed.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { ImagesJson } from '../../src/api/images/json.ts'
import { eventually } from '../kit/cluster/world.ts'
import { hasDockerRegistry, type RealRegistry, startDockerRegistry } from '../kit/images/docker-registry.ts'
import { dailiesFrom, weekliesFrom } from '../kit/images/tags.ts'
import { pushImages } from '../kit/images/tiny-images.ts'
import { bothAnswer, distinct, formOf, prepullsAre, pulledFor, useInstallation } from '../kit/prepull/image-site.ts'

const weeklies = weekliesFrom(2026, 46, 150).map(tag => `${tag}_c0026.003`)
const dailies = dailiesFrom('2026-11-20', 250).map(tag => `${tag}_c0026.003`)
/** Tags, some of them newer, that are ignored: they belong to another cycle or to none. */
const others = [
  ...weekliesFrom(2026, 47, 300).map(tag => `${tag}_c0025.001`),
  ...dailiesFrom('2026-11-21', 300).map(tag => `${tag}_c0025.001`),
  ...weekliesFrom(2026, 47, 100),
  'r29_1_1',
]
const aliases = {
  recommended_c0026: 'w_2026_44_c0026.003',
  latest_weekly: 'w_2026_46_c0026.003',
  latest_daily: 'd_2026_11_20_c0026.003',
  latest: 'w_2026_47_c0025.001',
}
/** The alias of each tag, as far as digests are known. */
const aliasOf = new Map(Object.entries(aliases).map(([alias, tag]) => [tag, alias]))

describe.skipIf(!hasDockerRegistry)('images of one cycle', () => {
  const repository = 'sal-sciplat-lab'
  let registry: RealRegistry
  let digests: ReadonlyMap<string, string>
  afterAll(() => registry?.stop())
  const { fleet, site } = useInstallation({ a: { kwok: true } }, async () => {
    registry = await startDockerRegistry()
    const images = distinct([...weeklies, ...dailies, ...others], aliases)
    digests = await pushImages({ registry: registry.address, repository, images })
    return {
      registry: registry.address,
      docker: { repository },
      recommendedTag: 'recommended_c0026',
      numReleases: 0,
      numWeeklies: 3,
      numDailies: 2,
      cycle: 26,
      aliasTags: ['latest', 'latest_daily', 'latest_weekly'],
      refreshIntervalSeconds: 0.5,
    }
  })

  const referenceOf = (tag: string) => `${registry.address}/${repository}:${tag}`
  const whole = (tag: string) => `${referenceOf(tag)}@${digests.get(tag)}`
  /** `w_2026_46_c0026.003` is Weekly 2026_46. */
  const title = (tag: string) => `${tag.startsWith('w') ? 'Weekly' : 'Daily'} ${tag.slice(2).replace(/_c.*$/, '')}`
  const recommended = () => ({
    reference: referenceOf('recommended_c0026'),
    tag: 'recommended_c0026',
    name: 'Recommended (Weekly 2026_44, SAL Cycle 0026, Build 003)',
    digest: digests.get('recommended_c0026')!,
  })
  const shown = (tag: string) => ({
    reference: referenceOf(tag),
    tag,
    name: `${title(tag)} (SAL Cycle 0026, Build 003)`,
  })
  const prepulled = ['w_2026_46', 'w_2026_45', 'd_2026_11_20', 'd_2026_11_19'].map(tag => `${tag}_c0026.003`)
  const known = new Set([...prepulled, 'w_2026_44_c0026.003'])
  const image = (tag: string) => ({
    ...shown(tag),
    aliases: known.has(tag) && aliasOf.has(tag) ? [aliasOf.get(tag)!] : [],
    digest: known.has(tag) ? digests.get(tag)! : null,
    prepulled: known.has(tag),
  })
  const images = (): ImagesJson => ({
    recommended: { ...recommended(), aliases: ['w_2026_44_c0026.003'], prepulled: true },
    'latest-weekly': image('w_2026_46_c0026.003'),
    'latest-daily': image('d_2026_11_20_c0026.003'),
    all: [...weeklies, ...dailies].map(image),
  })
  const sumOf = async (pattern: RegExp) => {
    const texts = await Promise.all(
      fleet()
        .working()
        .map(async i => (await fetch(`${fleet().monitoringUrl(i)}/metrics`)).text()),
    )
    return texts.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0)
  }
  const timesLogged = async (words: string) => {
    const logs = await Promise.all([fleet().log(0), fleet().log(1)])
    return logs.map(log => log.split(words).length - 1)
  }

  test('are listed with every field, without those of other cycles', async () => {
    const name = site().name('a')
    const all = [recommended(), ...prepulled.map(tag => ({ ...shown(tag), digest: digests.get(tag)! }))]
    await prepullsAre(fleet(), site(), {
      config: {
        registry: registry.address,
        docker: { repository: 'sal-sciplat-lab' },
        recommended_tag: 'recommended_c0026',
        num_releases: 0,
        num_weeklies: 3,
        num_dailies: 2,
        cycle: 26,
        alias_tags: ['latest', 'latest_daily', 'latest_weekly'],
      },
      images: { prepulled: all.map(each => ({ ...each, nodes: [name] })), pending: [] },
      nodes: [{ name, eligible: true, cached: all.map(({ reference }) => reference).sort() }],
    })
    await bothAnswer(fleet(), 'images', images())
  })

  test('become labs, and others are refused', async () => {
    expect(await pulledFor(fleet(), { image_type: 'recommended' })).toBe(whole('recommended_c0026'))
    expect(await pulledFor(fleet(), { image_type: 'latest-weekly' })).toBe(whole('w_2026_46_c0026.003'))
    expect(await pulledFor(fleet(), { image_tag: 'latest_daily' })).toBe(whole('latest_daily'))
    const refused = { image_type: 'latest-release', image_tag: 'w_2026_47', image_list: referenceOf('latest') }
    for (const [option, value] of Object.entries(refused)) {
      const { status, body } = await fleet()
        .user()
        .create({ [option]: value, size: 'small' })
      expect({ option, status, loc: body.detail[0]?.loc }).toEqual({
        option,
        status: 422,
        loc: ['body', 'options', option],
      })
    }
  })

  test('stay listed while the registry is down, and are updated when it is back', async () => {
    const failures = () => sumOf(/^skylab_image_catalogue_refresh_duration_seconds_count\{result="failed"\} (\d+)$/m)
    const { menu } = await formOf(fleet())
    await registry.kill()
    try {
      const before = await failures()
      await eventually('three readings in vain', async () => (await failures()) >= before + 3, 90_000)
      await bothAnswer(fleet(), 'images', images())
      expect((await formOf(fleet())).menu).toEqual(menu)
      expect(await pulledFor(fleet(), { image_type: 'latest-daily' })).toBe(whole('d_2026_11_20_c0026.003'))
    } finally {
      await registry.start()
    }
    await pushed('w_2026_47_c0026.003')
    const recovered = async () => (await timesLogged('the registry can be read again')).some(count => count > 0)
    await eventually('a log line that the registry is back', recovered)
    const counts = await timesLogged('the registry cannot be read')
    expect(Math.max(...counts)).toBe(1)
  })

  test('are read by any remaining replica', async () => {
    await fleet().kill(0)
    await pushed('w_2026_48_c0026.003')
  })

  /** Pushes a new weekly; resolves when replicas list it as the latest. */
  async function pushed(tag: string): Promise<void> {
    await pushImages({ registry: registry.address, repository, images: new Map([[tag, tag]]) })
    const latest = async () => {
      const urls = fleet()
        .working()
        .map(index => fleet().url(index))
      const answers = await Promise.all(urls.map(url => fleet().admin.at(url).request<ImagesJson>('images')))
      return answers.every(({ body }) => body['latest-weekly']?.tag === tag)
    }
    await eventually(`the latest weekly ${tag}`, latest, 90_000)
  }
})
