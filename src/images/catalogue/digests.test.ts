import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { digestA, digestB, FakeSource } from '../../../test/kit/images/catalogue.ts'
import { maxConnections } from '../registry/http.ts'
import { Digests } from './digests.ts'

const down = new Error('the registry is down')
/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

/** Digests of a replica: a repository, and the memory that all replicas share. */
function digestsOf(tags: Record<string, string> = {}, catalogued: Record<string, string> = {}) {
  const source = new FakeSource(tags)
  const clock = new ManualClock()
  const remembered = new Map<string, string>()
  const shared: [string, string | null][] = []
  const redis = { away: false }
  const memory = {
    digestOf: async (tag: string) => {
      if (redis.away) throw new Error('Redis is away')
      return remembered.get(tag) ?? null
    },
    remember: async (tag: string, digest: string | null) => {
      if (redis.away) throw new Error('Redis is away')
      shared.push([tag, digest])
      if (digest === null) remembered.delete(tag)
      else remembered.set(tag, digest)
    },
  }
  const warned: string[] = []
  const log = { warn: (fields: object) => warned.push(String((fields as { err: unknown }).err)) }
  const fresh = { is: false }
  const times = { timeoutMs: 5000, missingMs: 15_000 }
  const isFresh = () => fresh.is
  const parts = { source, memory, catalogued: (tag: string) => catalogued[tag], isFresh, clock, ...times, log }
  return { fresh, digests: new Digests(parts), source, clock, remembered, shared, redis, warned }
}

it('returns the registry’s digest of a tag or digest', async () => {
  const { digests } = digestsOf({ a: digestA })
  expect(await digests.look('a')).toBe(digestA)
  expect(await digests.look(digestA)).toBe(digestA)
  expect(await digests.look('b')).toBe('missing')
})

it('asks the registry once for all callers within seconds, and again later', async () => {
  const { digests, source, clock } = digestsOf({ a: digestA })
  const together = await Promise.all([1, 2, 3].map(() => digests.look('a')))
  expect(new Set(together)).toEqual(new Set([digestA]))
  clock.advance(4999)
  await digests.look('a')
  expect(source.asked).toEqual(['a'])
  source.digests.set('a', digestB)
  clock.advance(1)
  await digests.look('a')
  await expect.poll(() => digests.look('a')).toBe(digestB)
  expect(source.asked).toEqual(['a', 'a'])
})

it('returns a digest of 30 s at most without waiting, and asks the registry once meanwhile', async () => {
  const { digests, source, clock } = digestsOf({ a: digestA })
  await digests.look('a')
  const gate = Promise.withResolvers<void>()
  source.gate = gate.promise
  source.digests.set('a', digestB)
  clock.advance(29_999)
  expect(await Promise.all([1, 2, 3].map(() => digests.look('a')))).toEqual([digestA, digestA, digestA])
  await expect.poll(() => source.asked).toEqual(['a', 'a'])
  clock.advance(1)
  const waiting = digests.look('a')
  gate.resolve()
  expect(await waiting).toBe(digestB)
  expect(source.asked).toEqual(['a', 'a'])
})

it('waits for the registry beyond 30 s, however often a look-up has failed meanwhile', async () => {
  const { digests, source, clock } = digestsOf({ a: digestA })
  await digests.look('a')
  source.failure = down
  for (let i = 0; i < 5; i++) {
    clock.advance(5000)
    expect(await digests.look('a')).toBe(digestA)
    await expect.poll(() => source.asked).toHaveLength(i + 2)
    await settled()
  }
  source.failure = undefined
  source.digests.set('a', digestB)
  clock.advance(5000)
  expect(await digests.look('a')).toBe(digestB)
})

it('waits for the registry when the known digest is from another replica, or from the catalogue', async () => {
  const { digests, source, clock, remembered } = digestsOf({ a: digestA, c: digestA }, { c: digestB })
  await digests.look('a')
  source.failure = down
  remembered.set('a', digestB)
  clock.advance(5000)
  expect(await digests.look('a')).toBe(digestA)
  await settled()
  expect(await Promise.all(['a', 'c'].map(tag => digests.look(tag)))).toEqual([digestB, digestB])
  source.failure = undefined
  clock.advance(5000)
  expect(await Promise.all(['a', 'c'].map(tag => digests.look(tag)))).toEqual([digestA, digestA])
})

it('waits for the registry when it knows no digest', async () => {
  const { digests, source, clock } = digestsOf({ a: digestA })
  source.failure = down
  expect(await digests.look('a')).toBeNull()
  source.failure = undefined
  clock.advance(5000)
  expect(await digests.look('a')).toBe(digestA)
})

it('ends the wait of one caller without ending the others’', async () => {
  const { digests, source } = digestsOf({ a: digestA })
  const gate = Promise.withResolvers<void>()
  source.gate = gate.promise
  const caller = new AbortController()
  const leaving = digests.look('a', caller.signal)
  const staying = digests.look('a')
  caller.abort(new Error('gone'))
  await expect(leaving).rejects.toThrow('gone')
  gate.resolve()
  expect(await staying).toBe(digestA)
  expect(source.asked).toEqual(['a'])
})

it('waits no longer than configured, whether or not the source obeys the signal', async () => {
  const { digests, source, clock, warned } = digestsOf()
  source.manifestOf = () => new Promise(() => {})
  const looking = digests.look('a')
  clock.advance(5000)
  expect(await looking).toBeNull()
  expect(warned).toEqual([expect.stringContaining('no answer within 5000 ms')])
})

it('asks again for a missing tag after 15 s', async () => {
  const { digests, source, clock } = digestsOf()
  expect(await digests.look('a')).toBe('missing')
  source.digests.set('a', digestA)
  clock.advance(14_999)
  expect(await digests.look('a')).toBe('missing')
  expect(source.asked).toEqual(['a'])
  clock.advance(1)
  expect(await digests.look('a')).toBe(digestA)
})

it('shares a new digest of a tag with the other replicas', async () => {
  const { digests, source, clock, shared } = digestsOf({ a: digestA })
  await digests.look('a')
  clock.advance(30_000)
  await digests.look('a')
  await digests.look(digestA)
  clock.advance(30_000)
  source.digests.set('a', digestB)
  await digests.look('a')
  clock.advance(30_000)
  source.digests.delete('a')
  await digests.look('a')
  expect(shared).toEqual([
    ['a', digestA],
    ['a', digestB],
    ['a', null],
  ])
})

it('returns the last known digest, of any replica, while the registry is down', async () => {
  const { digests, source, clock, remembered, redis, warned } = digestsOf({ a: digestA }, { a: digestA, c: digestB })
  await digests.look('a')
  source.failure = down
  clock.advance(30_000)
  remembered.set('a', digestB)
  expect(await digests.look('a')).toBe(digestB)
  expect(warned).toEqual([expect.stringContaining('the registry is down')])
  // A registry that is down is not asked for each creation.
  await digests.look('a')
  expect(source.asked).toEqual(['a', 'a'])
  expect(await digests.look('c')).toBe(digestB)
  redis.away = true
  clock.advance(30_000)
  expect(await digests.look('a')).toBe(digestA)
})

it('returns this replica’s own memory when Redis has none', async () => {
  const { digests, source, clock, redis } = digestsOf({ a: digestA })
  await digests.look('a')
  redis.away = true
  source.failure = down
  clock.advance(30_000)
  expect(await digests.look('a')).toBe(digestA)
})

it('returns null for a tag that was never known, or was gone before', async () => {
  const { digests, source, clock } = digestsOf({ a: digestA })
  await digests.look('a')
  clock.advance(30_000)
  source.digests.delete('a')
  expect(await digests.look('a')).toBe('missing')
  source.failure = down
  clock.advance(15_000)
  expect(await digests.look('a')).toBeNull()
  expect(await digests.look('b')).toBeNull()
})

it('remembers at most five hundred tags', async () => {
  const { digests, source } = digestsOf(Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`t${i}`, digestA])))
  for (const tag of source.digests.keys()) await digests.look(tag)
  source.asked.length = 0
  await digests.look('t500')
  await digests.look('t0')
  expect(source.asked).toEqual(['t0'])
})

describe('Digests.look of made-up tags', () => {
  const madeUp = (count: number) => Array.from({ length: count }, (_, i) => `made-up-${i}`)

  it('costs the registry 40 requests, and one each second, when a fresh catalogue lacks them', async () => {
    const { digests, source, fresh, clock } = digestsOf({ a: digestA, pushed: digestB }, { a: digestA })
    fresh.is = true
    const found = await Promise.all(madeUp(1000).map(tag => digests.look(tag)))
    expect(new Set(found)).toEqual(new Set(['missing']))
    expect(source.asked).toHaveLength(40)
    expect(await digests.look('a')).toBe(digestA)
    // Newer than the catalogue: accepted as soon as the bucket has a token.
    expect(await digests.look('pushed')).toBe('missing')
    clock.advance(1000)
    expect(await digests.look('pushed')).toBe(digestB)
    expect(await digests.look('pushed')).toBe(digestB)
    expect(source.asked).toHaveLength(42)
  })

  it('asks the registry when the catalogue is old', async () => {
    const { digests, source } = digestsOf({ pushed: digestB }, {})
    for (const tag of madeUp(50)) await digests.look(tag)
    expect(await digests.look('pushed')).toBe(digestB)
    expect(source.asked).toHaveLength(51)
  })

  it('takes two of eight connections, two more for images of the catalogue, and leaves the others to the refresher', async () => {
    const { digests, source } = digestsOf(
      { a: digestA, b: digestA, c: digestB },
      { a: digestA, b: digestA, c: digestB },
    )
    const gate = Promise.withResolvers<void>()
    source.gate = gate.promise
    const strangers = madeUp(100).map(tag => digests.look(tag))
    await expect.poll(() => source.inFlight).toBe(2)
    const known = ['a', 'b', 'c'].map(tag => digests.look(tag))
    await expect.poll(() => source.inFlight).toBe(4)
    expect(source.asked).toEqual(['made-up-0', 'made-up-1', 'a', 'b'])
    gate.resolve()
    expect(await Promise.all(known)).toEqual([digestA, digestA, digestB])
    await Promise.all(strangers)
    expect(source.mostInFlight).toBe(maxConnections / 2)
  })

  it('remembers five hundred of them at most, and forgets no existing tag', async () => {
    const { digests, source } = digestsOf({ a: digestA })
    await digests.look('a')
    for (const tag of madeUp(501)) await digests.look(tag)
    source.asked.length = 0
    await Promise.all(['a', 'made-up-500', 'made-up-0'].map(tag => digests.look(tag)))
    expect(source.asked).toEqual(['made-up-0'])
  })

  it('leaves a made-up digest to the kubelet when too many are asked for', async () => {
    const { digests, fresh } = digestsOf({ a: digestA }, { a: digestA })
    fresh.is = true
    for (const tag of madeUp(40)) await digests.look(tag)
    expect(await digests.look(`sha256:${'c'.repeat(64)}`)).toBeNull()
  })
})
