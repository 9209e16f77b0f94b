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

/** A fake of Redis for refreshing: the catalogue, remembered digests, and the lease. */
class FakeRedis {
  readonly #clock: ManualClock
  #found: { version: string; body: string; readAtMs: number } | undefined
  #triedAtMs: number | undefined
  holder: string | undefined
  away = false
  readonly digests = new Map<string, string>()
  /** The token of each write, and whether the registry could be read. */
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

/** The refresher of a replica, by the replica's name. */
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
  const catalogues = new StoredCatalogues(redis, clock)
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

/** Resolves when all idle replicas sleep for this long, or a little less. */
const idle = (ms = intervalMs) => clock.sleepBetween(ms - 1, ms)
/** Resolves when the next refresh has written its result. */
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

/** Resolves when the registry is asked for its tags. */
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

describe('Refresher', () => {
  it('reads the registry at once without a catalogue, and then once per interval', async () => {
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

  it('takes the catalogue that another replica has read', async () => {
    const [first, second] = [replica('one'), replica('two')]
    first.refresher.start()
    await idle()
    await first.refresher.stop()
    second.refresher.start()
    await idle()
    expect(second.catalogues.known).toEqual(first.catalogues.known)
    expect(readings()).toBe(1)
  })

  it('looks again soon while another replica reads, and takes over if that one died', async () => {
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

  it('writes nothing when another replica has the lease', async () => {
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

  it('aborts a reading and releases the lease when it stops', async () => {
    const { refresher, observed, lines } = replica('one')
    source.gate = new Promise(() => {})
    const reading = asked()
    refresher.start()
    await reading
    await refresher.stop()
    expect([redis.holder, redis.ends]).toEqual([undefined, []])
    expect([await observed('done'), await observed('failed'), lines]).toEqual([0, 0, []])
  })

  it('reads at once when Redis was emptied, and keeps its catalogue until then', async () => {
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

  it('keeps an alias when its digest can no longer be read', async () => {
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

  it('reads after Redis’ clock stepped back', async () => {
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

  it('updates remembered digests', async () => {
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

describe('Refresher, when the registry lacks configured tags,', () => {
  const words = 'warn the registry lacks tags that the configuration names'

  it('logs them once, again when others are missing, and when they exist', async () => {
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

describe('Refreshers of two replicas', () => {
  it('read once per interval in total, and have the same catalogue', async () => {
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

describe('Refresher, when the registry is down,', () => {
  it('keeps the catalogue, and logs at the beginning, every five minutes and at the end', async () => {
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

  it('retries soon while there is no catalogue', async () => {
    source.failure = new Error('down')
    const { refresher, catalogues } = replica('one')
    refresher.start()
    await idle(10_000)
    source.failure = undefined
    clock.advance(10_000)
    await idle()
    expect(catalogues.known).not.toBeNull()
  })

  it('aborts an endless answer, and releases the lease', async () => {
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

  it('logs the recovery also when another replica has read the registry', async () => {
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
