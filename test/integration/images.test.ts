/** The list of images in all replicas: one of them reads the registry, and the list remains when the registry is away. */
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { FakeRegistry } from '../kit/images/registry.ts'
import { faults, status } from '../kit/images/server.ts'

const registry = await FakeRegistry.start()
afterAll(() => registry.server.stop())
const weekly = registry.push('w_2026_02', 1000)
const daily = registry.push('d_2026_01_12', 2000)
registry.manifests.set('recommended', registry.manifests.get('w_2026_02')!)
registry.tags.push('recommended')

const { repository } = registry
const images = { registry: registry.server.host, docker: { repository }, numDailies: 1, refreshIntervalSeconds: 3600 }
const fleet = useFleet({ replicas: 3, config: { images } })

interface Images {
  readonly [type: string]: { readonly tag: string; readonly digest: string | null; readonly aliases: readonly string[] }
}

/** Number of reads of the tags. */
const readings = () => registry.server.lines.filter(line => line.includes('/tags/list')).length

/** The answer of each replica, once all of them have this latest weekly. */
function everywhere(tag: string): Promise<Images[]> {
  return eventually(`the latest weekly ${tag}`, async () => {
    const answers = await Promise.all(fleet().urls.map(url => fleet().admin.at(url).request<Images>('images')))
    if (answers.some(({ status, body }) => status !== 200 || body['latest-weekly']?.tag !== tag)) return null
    return answers.map(({ body }) => body)
  })
}

describe('three replicas', () => {
  test('list the same images, though only one of them read the registry', async () => {
    const [first, ...others] = await everywhere('w_2026_02')
    expect(first).toMatchObject({
      recommended: { tag: 'recommended', digest: weekly },
      'latest-weekly': { tag: 'w_2026_02', digest: weekly, aliases: ['recommended'] },
      'latest-daily': { tag: 'd_2026_01_12', digest: daily },
    })
    for (const other of others) expect(other).toEqual(first)
    expect(readings()).toBe(1)
  })

  test('list the images to prepull, with their configuration', async () => {
    await everywhere('w_2026_02')
    const { status, body } = await fleet().admin.request<{ config: object; images: { pending: object[] } }>('prepulls')
    expect(status).toBe(200)
    expect(body.config).toMatchObject({ registry: registry.server.host, docker: { repository }, num_dailies: 1 })
    expect(Object.keys(body)).toEqual(['config', 'images', 'nodes'])
  })

  test('read the registry again, once, when Redis was emptied', async () => {
    const before = readings()
    registry.push('w_2026_03', 1000)
    await fleet().world.redis.flushall()
    const [first, ...others] = await everywhere('w_2026_03')
    for (const other of others) expect(other).toEqual(first)
    expect(readings()).toBe(before + 1)
    // Creates come next: they need a compare of the records with the cluster.
    await fleet().ready()
  })

  test('make labs of the latest image', async () => {
    const user = fleet().user()
    expect((await user.create({ image_type: 'latest-daily', size: 'small' })).status).toBe(303)
    expect((await user.follow()).outcome).toBe('complete')
    const { spec } = await fleet().world.podOf(user.username)
    expect(spec.containers[0].image).toBe(`${registry.server.host}/${repository}:d_2026_01_12@${daily}`)
  })

  test('share the digest of a tag that no catalogue has', async () => {
    const other = registry.push('exp_2026', 3000)
    const options = { image_tag: 'exp_2026', size: 'small' }
    const [first, second] = [fleet().user(), fleet().user()]
    expect((await first.at(fleet().url(0)).create(options)).status).toBe(303)
    registry.asks = 'basic'
    try {
      expect((await second.at(fleet().url(1)).create(options)).status).toBe(303)
    } finally {
      registry.asks = 'nobody'
    }
    await second.follow()
    const { spec } = await fleet().world.podOf(second.username)
    expect(spec.containers[0].image).toBe(`${registry.server.host}/${repository}:exp_2026@${other}`)
    await first.follow()
  })

  test('refuse an image that the registry does not have, and name the option', async () => {
    const { status, body } = await fleet().user().create({ image_tag: 'w_1999_01', size: 'small' })
    expect(status).toBe(422)
    expect(body.detail[0]).toMatchObject({ loc: ['body', 'options', 'image_tag'] })
  })
})

describe('a replica that is killed while it reads the registry', () => {
  const lonely = useFleet({ replicas: 1, config: { images } })

  test('is replaced by another when its lease has ended', async () => {
    const tags = async () => {
      const { status, body } = await lonely().admin.request<Images>('images')
      return status === 200 ? body['latest-weekly']?.tag : undefined
    }
    await eventually('a catalogue', tags)
    registry.push('w_2026_04', 1000)
    const before = registry.server.asked.length
    registry.server.faults.push(faults.never)
    await lonely().world.redis.flushall()
    await registry.server.whenAsked(before + 1)
    await lonely().kill(0)
    await lonely().start(0)
    await eventually('the reading of its heir', async () => (await tags()) === 'w_2026_04')
  })
})

describe('a registry that is down', () => {
  const often = useFleet({ replicas: 2, config: { images: { ...images, refreshIntervalSeconds: 0.2 } } })

  test('changes only a metric and one line of the log', async () => {
    const answer = async () => (await often().admin.request<Images>('images')).body
    const before = await eventually('a catalogue', async () => {
      const { status, body } = await often().admin.request<Images>('images')
      return status === 200 ? body : null
    })
    const failed = async () => {
      const pattern = /^skylab_image_catalogue_refresh_duration_seconds_count\{result="failed"\} (\d+)$/m
      const counts = await Promise.all(
        often().monitoringUrls.map(async url => pattern.exec(await (await fetch(`${url}/metrics`)).text())?.[1]),
      )
      return counts.reduce((sum, count) => sum + Number(count ?? 0), 0)
    }
    const fault = status(500)
    // More than the test will request.
    registry.server.faults.push(...Array.from({ length: 5000 }, () => fault))
    try {
      await eventually('three readings in vain', async () => (await failed()) >= 3)
      expect(await answer()).toEqual(before)
      const user = often().user()
      expect((await user.create({ image_type: 'latest-weekly', size: 'small' })).status).toBe(303)
      await user.follow()
      const { spec } = await often().world.podOf(user.username)
      expect(spec.containers[0].image).toContain(`:${before['latest-weekly']!.tag}@${before['latest-weekly']!.digest}`)
    } finally {
      registry.server.faults.length = 0
    }
    const timesLogged = async (words: string) => {
      const logs = await Promise.all([often().log(0), often().log(1)])
      return logs.map(log => log.split(words).length - 1)
    }
    await eventually('that it is up again', async () =>
      (await timesLogged('the registry can be read again')).some(count => count > 0),
    )
    for (const count of await timesLogged('the registry cannot be read')) expect(count).toBeLessThanOrEqual(1)
  })
})
