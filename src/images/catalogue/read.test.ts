import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { digestA, digestB, FakeSource } from '../../../test/kit/images/catalogue.ts'
import { configSchema } from '../../config/schema.ts'
import { readCatalogue } from './read.ts'

const { images } = configSchema.parse({ images: { registry: 'example.org', docker: { repository: 'some/lab' } } })
const clock = new ManualClock()
const read = (source: FakeSource, more: object = {}) => readCatalogue({ images, source, clock, ...more })

const dailies = Object.fromEntries(
  Array.from({ length: 28 }, (_, i) => [`d_2026_01_${String(i + 1).padStart(2, '0')}`, digestB]),
)

describe('readCatalogue', () => {
  it('asks for the digests that matter, a few at a time', async () => {
    const source = new FakeSource({
      ...dailies,
      recommended: digestA,
      w_2026_02: digestA,
      w_2026_01: digestB,
      r27_0_0: digestB,
    })
    const { catalogue, digests, trouble, missing } = await read(source)
    expect(source.asked[0]).toBe('tags')
    const asked = source.asked.slice(1)
    expect(asked).toEqual(expect.arrayContaining(['recommended', 'w_2026_02', 'd_2026_01_28']))
    expect(asked.length).toBeLessThan(28)
    expect(new Set(asked).size).toBe(asked.length)
    expect(catalogue.types['latest-weekly']).toMatchObject({ tag: 'w_2026_02', digest: digestA })
    expect(catalogue.readAtMs).toBe(clock.wallMs())
    expect(digests.get('w_2026_02')).toBe(digestA)
    expect(digests.get('d_2026_01_01')).toBeNull()
    expect(digests.size).toBe(32)
    expect(trouble).toBeUndefined()
    expect(missing).toEqual([])
  })

  it('returns configured tags that are missing, also if they vanish during the reading', async () => {
    const source = new FakeSource({ recommended: digestA, w_2026_02: digestA, w_2026_01: digestB })
    const list = source.listTags.bind(source)
    source.listTags = async () => {
      const listed = await list()
      source.digests.delete('recommended')
      return listed
    }
    const pins = ['w_2026_01', 'w_1999_1']
    expect((await read(source, { images: { ...images, pins } })).missing).toEqual(['recommended', 'w_1999_1'])
  })

  it('has at most eight requests in flight', async () => {
    const source = new FakeSource(dailies)
    const { numReleases, numWeeklies } = images
    await readCatalogue({ images: { ...images, numReleases, numWeeklies, numDailies: 18 }, source, clock })
    expect(source.asked.length).toBeGreaterThan(12)
    expect(source.mostInFlight).toBe(8)
  })

  it('asks for no digest that the list contains', async () => {
    const source = new FakeSource({ w_2026_02: digestA })
    source.listsDigests = true
    expect((await read(source)).catalogue.all).toMatchObject([{ tag: 'w_2026_02', digest: digestA }])
    expect(source.asked.filter(what => what === 'w_2026_02')).toEqual([])
  })

  it('leaves out a tag that vanishes during the reading', async () => {
    const source = new FakeSource({ w_2026_02: digestA, w_2026_01: digestB })
    const list = source.listTags.bind(source)
    source.listTags = async () => {
      const listed = await list()
      source.digests.delete('w_2026_02')
      return listed
    }
    const { catalogue, digests } = await read(source)
    expect(catalogue.types['latest-weekly']?.tag).toBe('w_2026_01')
    expect(digests.has('w_2026_02')).toBe(false)
  })
})

describe('readCatalogue when the registry returns no digest', () => {
  /** Fails for one of two tags. */
  function halfBroken() {
    const source = new FakeSource({ w_2026_02: digestA, w_2026_01: digestB })
    const ask = source.manifestOf.bind(source)
    source.manifestOf = async (reference, signal) => {
      if (reference === 'w_2026_02') throw new Error('a manifest is broken')
      return ask(reference, signal)
    }
    return source
  }

  it('uses the digest that was known before', async () => {
    const known = new Map([
      ['w_2026_02', digestB],
      ['w_2026_01', digestA],
    ])
    const { catalogue, trouble } = await read(halfBroken(), { known })
    expect(catalogue.all).toMatchObject([
      { tag: 'w_2026_02', digest: digestB },
      { tag: 'w_2026_01', digest: digestB },
    ])
    expect(trouble?.message).toBe('a manifest is broken')
  })

  it('leaves an unknown digest null', async () => {
    expect((await read(halfBroken())).catalogue.all[0]).toMatchObject({ tag: 'w_2026_02', digest: null })
  })

  it('fails when no digest is returned at all', async () => {
    const source = new FakeSource({ w_2026_02: digestA })
    source.manifestOf = () => Promise.reject(new Error('not for you'))
    await expect(read(source)).rejects.toThrow('not for you')
  })
})

it('readCatalogue fails when the registry does not list its tags', async () => {
  const source = new FakeSource()
  source.failure = new Error('down')
  await expect(read(source)).rejects.toThrow('down')
})

it.each(['listTags', 'manifestOf'] as const)(
  'readCatalogue fails when the registry takes too long in all: %s',
  async question => {
    const source = new FakeSource({ w_2026_02: digestA })
    const begun = Promise.withResolvers<void>()
    source[question] = () => {
      begun.resolve()
      return new Promise<never>(() => {})
    }
    const reading = read(source, { images: { ...images, readingTimeoutSeconds: 7 } })
    const words = 'it was not read to the end within 7 s (images.readingTimeoutSeconds)'
    const failed = expect(reading).rejects.toThrow(words)
    await begun.promise
    clock.advance(7000)
    await failed
  },
)

it('readCatalogue ends when its caller aborts it', async () => {
  const source = new FakeSource({ w_2026_02: digestA })
  const caller = new AbortController()
  const ask = source.manifestOf.bind(source)
  source.manifestOf = (reference, signal) => {
    caller.abort(new Error('over'))
    return ask(reference, signal)
  }
  await expect(read(source, { signal: caller.signal })).rejects.toThrow('over')
})
