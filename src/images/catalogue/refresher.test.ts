import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { digestA, digestB, FakeSource } from '../../../test/kit/images/catalogue.ts'
import { RetryLater } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import type { Refreshed } from '../../store/images.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { Refresher } from './refresher.ts'
import { StoredCatalogues } from './stored.ts'

const intervalMs = 300_000
const { images } = configSchema.parse({ images: { registry: 'example.org', docker: { repository: 'some/lab' } } })

/** Redis, as far as refreshing goes: the catalogue, what is remembered of tags, and the lease. */
class FakeRedis {
  readonly #clock: ManualClock
  #found: { version: string; body: string; readAtMs: number } | undefined
  #triedAtMs: number | undefined
  holder: string | undefined
  away = false
  readonly digests = new Map<string, string>()
  /** By what token was written, and whether the registry told. */
  readonly ends: [string, 'found' | 'nothing'][] = []
  readonly lease = 'lease'

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  clear(): void {
    this.#found = undefined
    this.#triedAtMs = undefined
    this.holder = undefined
    this.digests.clear()
  }

  async look(known: string | undefined) {
    if (this.away) throw new RetryLater('Redis does not answer')
    const now = this.#clock.monotonicMs()
    const found = this.#found
    return {
      ...(found && { version: found.version, ageMs: now - found.readAtMs }),
      ...(found && found.version !== known && { body: found.body }),
      ...(this.#triedAtMs !== undefined && { sinceAttemptMs: now - this.#triedAtMs }),
    }
  }

  async end(token: string, refreshed: Refreshed | null): Promise<boolean> {
    if (token !== this.holder) return false
    const now = this.#clock.monotonicMs()
    this.#triedAtMs = now
    this.ends.push([token, refreshed ? 'found' : 'nothing'])
    if (refreshed) this.#found = { version: refreshed.version, body: refreshed.body, readAtMs: now }
    for (const [tag, digest] of refreshed?.digests ?? []) {
      if (digest === null) this.digests.delete(tag)
      else this.digests.set(tag, digest)
    }
    return true
  }

  async remembered(): Promise<string[]> {
    return [...this.digests.keys()]
  }
}

let clock: ManualClock
let redis: FakeRedis
let source: FakeSource
const running: Refresher[] = []
beforeEach(() => {
  clock = new ManualClock()
  redis = new FakeRedis(clock)
  source = new FakeSource({ recommended: digestA, w_2026_02: digestA })
})
afterEach(async () => {
  await Promise.all(running.splice(0).map(refresher => refresher.stop()))
})

/** A replica's part in it, by its name. */
function replica(name: string, settings = images) {
  const metrics = createMetrics(new Registry())
  const lines: string[] = []
  const log = {
    debug: () => {},
    info: (_: object, message: string) => void lines.push(`info ${message}`),
    warn: (fields: { reason?: string; tags?: string[] }, message: string) =>
      void lines.push(`warn ${message}: ${fields.reason ?? fields.tags}`),
  }
  const leases = {
    acquireTask: async (key: string) => {
      expect(key).toBe('lease')
      if (redis.holder !== undefined) return null
      redis.holder = name
      return {
        token: name,
        release: async () => {
          if (redis.holder === name) redis.holder = undefined
        },
      }
    },
  }
  const catalogues = new StoredCatalogues(redis)
  const parts = { images: settings, source, store: redis, catalogues, leases, clock, log, metrics }
  const refresher = new Refresher({ ...parts, failpoint: () => {} })
  running.push(refresher)
  const observed = async (result: 'done' | 'failed') => {
    const { values } = await metrics.catalogueRefreshDuration.get()
    const count = values.find(({ metricName, labels }) => metricName?.endsWith('_count') && labels.result === result)
    return count?.value ?? 0
  }
  return { refresher, catalogues, lines, observed }
}

/** Until everybody who has nothing to do sleeps for so long, or a little less. */
const idle = (ms = intervalMs) => clock.sleepBetween(ms - 1, ms)
/** When the next refresh has written what it found. */
function ended(): Promise<void> {
  const end = redis.end.bind(redis)
  return new Promise(resolve => {
    redis.end = async (token, found) => {
      const written = await end(token, found)
      resolve()
      return written
    }
  })
}

/** When the registry is asked for its tags. */
function asked(): Promise<void> {
  const list = source.listTags.bind(source)
  return new Promise(resolve => {
    source.listTags = signal => {
      resolve()
      return list(signal)
    }
  })
}

const readings = () => source.asked.filter(what => what === 'tags').length

describe('a replica', () => {
  it('reads the registry at once where nothing is known, and then once in each interval', async () => {
    const { refresher, catalogues, observed } = replica('one')
    refresher.start()
    await idle()
    expect(catalogues.known?.types.recommended).toMatchObject({ tag: 'recommended', digest: digestA })
    source.digests.set('recommended', digestB)
    clock.advance(intervalMs)
    await idle()
    expect(catalogues.known?.types.recommended?.digest).toBe(digestB)
    expect(readings()).toBe(2)
    expect(await observed('done')).toBe(2)
    expect(redis.holder).toBeUndefined()
  })

  it('takes what another one has read', async () => {
    const [first, second] = [replica('one'), replica('two')]
    first.refresher.start()
    await idle()
    await first.refresher.stop()
    second.refresher.start()
    await idle()
    expect(second.catalogues.known).toEqual(first.catalogues.known)
    expect(readings()).toBe(1)
  })

  it('looks again soon while another one reads, and goes on where that one died', async () => {
    redis.holder = 'another'
    const { refresher, catalogues } = replica('one')
    refresher.start()
    await clock.sleepBetween(2000, 2000)
    expect(readings()).toBe(0)
    redis.holder = undefined
    clock.advance(2000)
    await idle()
    expect(catalogues.known).not.toBeNull()
  })

  it('writes nothing when its lease went to another', async () => {
    const { refresher, observed } = replica('one')
    const gate = Promise.withResolvers<void>()
    source.gate = gate.promise
    const reading = asked()
    refresher.start()
    await reading
    redis.holder = 'another'
    gate.resolve()
    await clock.sleepBetween(2000, 2000)
    expect(redis.ends).toEqual([])
    expect(await observed('failed')).toBe(1)
    expect(redis.holder).toBe('another')
  })

  it('gives up what it does at its end, and the lease with it', async () => {
    const { refresher, observed, lines } = replica('one')
    source.gate = new Promise(() => {})
    const reading = asked()
    refresher.start()
    await reading
    await refresher.stop()
    expect([redis.holder, redis.ends]).toEqual([undefined, []])
    expect([await observed('done'), await observed('failed'), lines]).toEqual([0, 0, []])
  })

  it('reads at once when Redis was emptied, and knows what it knew until then', async () => {
    const { refresher, catalogues } = replica('one')
    refresher.start()
    await idle()
    const before = catalogues.known
    catalogues.onMissing(() => refresher.wake())
    redis.clear()
    source.digests.set('w_2026_03', digestB)
    expect(await catalogues.read()).toBe(before)
    await idle()
    expect(readings()).toBe(2)
    expect(catalogues.known?.types['latest-weekly']?.tag).toBe('w_2026_03')
  })

  it('keeps an alias when the registry does not tell its digest any more', async () => {
    const aliased = { ...images, aliasTags: ['latest_weekly'] }
    source.digests.set('latest_weekly', digestA)
    const { refresher, catalogues } = replica('one', aliased)
    refresher.start()
    await idle()
    const before = catalogues.known?.types['latest-weekly']
    const ask = source.manifestOf.bind(source)
    source.manifestOf = async (reference, signal) => {
      if (reference === 'latest_weekly') throw new Error('the registry is going')
      return ask(reference, signal)
    }
    const end = ended()
    clock.advance(intervalMs)
    await end
    await idle()
    expect(before?.aliases).toContain('latest_weekly')
    expect(catalogues.known?.types['latest-weekly']).toEqual(before)
  })

  it('reads when Redis’ clock stepped back', async () => {
    const { refresher } = replica('one')
    refresher.start()
    await idle()
    const look = redis.look.bind(redis)
    let stepped = true
    redis.look = async known => (stepped ? { ...(await look(known)), sinceAttemptMs: -3_600_000 } : look(known))
    const read = ended().then(() => {
      stepped = false
    })
    refresher.wake()
    await read
    await idle()
    expect(readings()).toBe(2)
  })

  it('waits for Redis', async () => {
    redis.away = true
    const { refresher, catalogues } = replica('one')
    refresher.start()
    await clock.sleepBetween(10_000, 10_000)
    expect(readings()).toBe(0)
    redis.away = false
    clock.advance(10_000)
    await idle()
    expect(catalogues.known).not.toBeNull()
  })

  it('brings up to date what is remembered of tags', async () => {
    redis.digests.set('recommended', digestB).set('gone', digestB).set('d_2026_01_12', digestB)
    source.digests.set('d_2026_01_12', digestA)
    const { refresher } = replica('one')
    refresher.start()
    await idle()
    expect(redis.digests).toEqual(
      new Map([
        ['recommended', digestA],
        ['d_2026_01_12', digestA],
      ]),
    )
  })
})

describe('tags that the configuration names and the registry lacks', () => {
  const words = 'warn the registry lacks tags that the configuration names'

  it('are told once, and again when there are others, and when they are there', async () => {
    const { refresher, lines, catalogues } = replica('one', { ...images, pins: ['w_2026_02', 'w_2025_99'] })
    refresher.start()
    await idle()
    const next = async () => {
      clock.advance(intervalMs)
      await idle()
    }
    await next()
    expect(lines).toEqual([`${words}: w_2025_99`])
    source.digests.delete('recommended')
    await next()
    await next()
    expect(lines.slice(1)).toEqual([`${words}: recommended,w_2025_99`])
    expect(catalogues.known?.types.recommended?.tag).toBe('w_2026_02')
    source.digests.set('recommended', digestA)
    await next()
    expect(lines).toHaveLength(2)
    source.digests.set('w_2025_99', digestB)
    await next()
    await next()
    expect(lines.slice(2)).toEqual(['info the registry has the tags that it lacked'])
  })
})

describe('two replicas', () => {
  it('read once in each interval between them, and know the same', async () => {
    const [first, second] = [replica('one'), replica('two')]
    first.refresher.start()
    second.refresher.start()
    await idle()
    await clock.sleepBetween(2000, 2000)
    clock.advance(2000)
    await idle(intervalMs - 2000)
    expect(readings()).toBe(1)
    expect(second.catalogues.known).toEqual(first.catalogues.known)
  })
})

describe('a registry that is down', () => {
  it('changes nothing but a metric, and a line when it begins, every five minutes and when it ends', async () => {
    const minuteMs = 60_000
    const { refresher, catalogues, lines, observed } = replica('one', { ...images, refreshIntervalSeconds: 60 })
    const minute = async () => {
      clock.advance(minuteMs)
      await idle(minuteMs)
    }
    refresher.start()
    await idle(minuteMs)
    const before = catalogues.known
    source.failure = new Error('example.org answered 500')
    for (let i = 0; i < 5; i++) await minute()
    expect(catalogues.known).toBe(before)
    expect(await observed('failed')).toBe(5)
    expect(redis.ends.map(([, what]) => what)).toEqual(['found', ...Array(5).fill('nothing')])
    const trouble = 'warn the registry cannot be read: example.org answered 500'
    expect(lines).toEqual([trouble])
    await minute()
    expect(lines).toEqual([trouble, trouble])
    source.failure = undefined
    await minute()
    expect(lines).toEqual([trouble, trouble, 'info the registry can be read again'])
    expect(catalogues.known).not.toBe(before)
  })

  it('is asked again soon while nothing is known at all', async () => {
    source.failure = new Error('down')
    const { refresher, catalogues } = replica('one')
    refresher.start()
    await idle(10_000)
    source.failure = undefined
    clock.advance(10_000)
    await idle()
    expect(catalogues.known).not.toBeNull()
  })

  it('which answers on and on, and never to the end, is given up, and the lease given back', async () => {
    const { refresher, catalogues, lines, observed } = replica('one')
    source.gate = new Promise(() => {})
    const reading = asked()
    refresher.start()
    await reading
    expect(redis.holder).toBe('one')
    clock.advance(images.readingTimeoutSeconds * 1000)
    await idle(10_000)
    expect(redis.holder).toBeUndefined()
    expect(await observed('failed')).toBe(1)
    expect(lines).toEqual([expect.stringContaining('it was not read to the end within 240 s')])
    source.gate = undefined
    clock.advance(10_000)
    await idle()
    expect(catalogues.known).not.toBeNull()
  })

  it('is told to be up again also where another replica found it so', async () => {
    const [first, second] = [replica('one'), replica('two')]
    first.refresher.start()
    await idle()
    source.failure = new Error('down')
    clock.advance(intervalMs)
    await idle()
    source.failure = undefined
    redis.clear()
    const read = ended()
    second.refresher.start()
    await read
    await second.refresher.stop()
    expect(first.lines).toHaveLength(1)
    first.refresher.wake()
    await idle()
    expect(first.lines.at(-1)).toBe('info the registry can be read again')
    expect(second.lines).toEqual([])
  })
})
