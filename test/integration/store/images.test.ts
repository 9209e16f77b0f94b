/** The catalogue of images in Redis: its readers, its writer, and the digests stored beside it. */
import { describe, expect, test } from 'vitest'
import { ImageStore, maxDigests, type Refreshed } from '../../../src/store/images.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const dayMs = 86_400_000

const imagesOf = (scope = 'scope', intervalMs = 1000) =>
  new ImageStore({ connection: store().connection, keys: store().keys, scope, intervalMs })
const found = (version: string, digests: [string, string | null][] = []): Refreshed => ({
  ...{ version, body: `body of ${version}` },
  digests: new Map(digests),
})

/** Takes the lease of refreshing. */
async function hold(images: ImageStore, token = 'token'): Promise<string> {
  await store().redis.set(images.lease, token, 'PX', 60_000)
  return token
}

describe('the catalogue', () => {
  test('is returned to readers with another version; its age is returned to all', async () => {
    const images = imagesOf()
    expect(await images.look(undefined)).toEqual({})
    expect(await images.end(await hold(images), found('1'))).toBe(true)
    const look = await images.look(undefined)
    expect(look).toMatchObject({ version: '1', body: 'body of 1' })
    expect([look.ageMs, look.sinceAttemptMs].every(ms => ms! >= 0 && ms! < 60_000)).toBe(true)
    expect(await images.look('0')).toMatchObject({ version: '1', body: 'body of 1' })
    expect(Object.keys(await images.look('1')).sort()).toEqual(['ageMs', 'sinceAttemptMs', 'version'])
  })

  test('is written only with the lease', async () => {
    const images = imagesOf()
    await hold(images, 'another')
    expect(await images.end('token', found('1', [['a', 'sha256:a']]))).toBe(false)
    await store().redis.del(images.lease)
    expect(await images.end('token', null)).toBe(false)
    expect(await images.look(undefined)).toEqual({})
    expect(await images.remembered()).toEqual([])
  })

  test('stays after a failed reading of the registry', async () => {
    const images = imagesOf()
    const token = await hold(images)
    await images.end(token, found('1'))
    const key = store().keys.catalogue('scope')
    await store().redis.hset(key, 'readAt', 0, 'triedAt', 0)
    expect(await images.end(token, null)).toBe(true)
    const { version, ageMs, sinceAttemptMs } = await images.look('1')
    expect(version).toBe('1')
    expect(ageMs).toBeGreaterThan(dayMs)
    expect(sinceAttemptMs).toBeLessThan(60_000)
  })

  test('can have a failed reading before it ever existed', async () => {
    const images = imagesOf()
    await images.end(await hold(images), null)
    expect(Object.keys(await images.look(undefined))).toEqual(['sinceAttemptMs'])
  })

  test('of another configuration is a separate one', async () => {
    const [images, others] = [imagesOf(), imagesOf('other')]
    await images.end(await hold(images), found('1', [['a', 'sha256:a']]))
    expect(await others.look(undefined)).toEqual({})
    expect(await others.digestOf('a')).toBeNull()
    expect(await others.end('token', found('2'))).toBe(false)
  })

  test('expires when it is no longer refreshed', async () => {
    const images = imagesOf()
    await images.end(await hold(images), found('1', [['a', 'sha256:a']]))
    for (const key of [store().keys.catalogue('scope'), store().keys.digests('scope')]) {
      expect(await store().redis.pttl(key)).toBeGreaterThan(dayMs - 60_000)
      expect(await store().redis.pttl(key)).toBeLessThanOrEqual(dayMs)
    }
    const seldom = imagesOf('seldom', dayMs)
    await seldom.end(await hold(seldom), found('1'))
    expect(await store().redis.pttl(store().keys.catalogue('seldom'))).toBeGreaterThan(9 * dayMs)
  })

  test('can have megabytes', async () => {
    const images = imagesOf()
    const body = 'x'.repeat(8_000_000)
    await images.end(await hold(images), { ...found('1'), body })
    expect((await images.look(undefined)).body).toHaveLength(body.length)
  })
})

describe('stored digests', () => {
  test('are those read last, and go with their tag', async () => {
    const images = imagesOf()
    await images.remember('a', 'sha256:a')
    await images.remember('b', 'sha256:b')
    await images.remember('a', 'sha256:c')
    expect([await images.digestOf('a'), await images.digestOf('b')]).toEqual(['sha256:c', 'sha256:b'])
    await images.remember('a', null)
    expect(await images.digestOf('a')).toBeNull()
    expect(await store().redis.pttl(store().keys.digests('scope'))).toBeGreaterThan(dayMs - 60_000)
  })

  test('are updated by a refresh', async () => {
    const images = imagesOf()
    await images.remember('a', 'sha256:a')
    await images.remember('b', 'sha256:b')
    await images.remember('c', 'sha256:c')
    const tags: [string, string | null][] = [
      ['a', null],
      ['b', 'sha256:d'],
    ]
    await images.end(await hold(images), found('1', tags))
    expect((await images.remembered()).sort()).toEqual(['b', 'c'])
    expect(await images.digestOf('b')).toBe('sha256:d')
  })

  test('are limited to a number of tags', async () => {
    const images = imagesOf()
    const key = store().keys.digests('scope')
    const all = Array.from({ length: maxDigests }, (_, i) => [`t${i}`, 'sha256:a']).flat()
    await store().redis.hset(key, ...all)
    await images.remember('new', 'sha256:b')
    expect(await images.digestOf('new')).toBe('sha256:b')
    expect(await store().redis.hlen(key)).toBe(maxDigests)
    await images.remember('new', 'sha256:c')
    expect(await store().redis.hlen(key)).toBe(maxDigests)
  })
})
