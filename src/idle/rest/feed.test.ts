/** The feed of events of activity: from Redis to the streams of a replica. */
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { ApiError, RetryLater } from '../../base/errors.ts'
import type { StoredActivityEvent } from '../../store/idle.ts'
import type { Ring } from '../../store/rings.ts'
import { ActivityFeed } from './feed.ts'
import type { ShownEvent, ShownEvents, Whose } from './service.ts'

/** Redis with a stream of events, and one replica. */
class World {
  readonly clock = new ManualClock({ passBelowMs: 10_000 })
  readonly errors: object[] = []
  stored: StoredActivityEvent[] = []
  reads = 0
  isAway = false
  readonly #rung: ((ring: Ring) => void)[] = []
  readonly feed: ActivityFeed

  constructor(most?: number) {
    const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => void this.errors.push(fields) }
    this.feed = new ActivityFeed({
      store: { readEvents: (afterId, limit) => this.#read(afterId, limit) },
      bell: {
        on: listener => {
          this.#rung.push(listener)
          return () => {}
        },
      },
      ...{ clock: this.clock, log, ownerOf: ({ kind, id }) => (kind === 'lab' ? id : owners[id]) },
      ...(most !== undefined && { most }),
    })
  }

  add(
    series: number,
    seq: number,
    id: string,
    kind: StoredActivityEvent['kind'] = 'lab',
    data = '{"rule":"gpu"}',
  ): void {
    this.stored.push({ id: `${series}-${seq}`, kind, workload: id, atMs: 1000 * seq, event: 'warning', data })
  }

  ring(what: 'activity' | 'missed' | 'events' = 'activity'): void {
    const subject = { kind: 'lab', name: 'anybody' }
    for (const listener of this.#rung) listener(what === 'missed' ? { what } : { what, subject })
  }

  /** A stream, and what it has sent. */
  async open(whose: Whose, lastEventId?: string) {
    return follow(await this.feed.open(whose, lastEventId))
  }

  async #read(afterId: string, limit: number) {
    this.reads += 1
    await new Promise(resolve => setImmediate(resolve))
    if (this.isAway) throw new RetryLater('Redis does not answer')
    const [series = 0, seq = 0] = afterId.split('-').map(Number)
    const newest = this.stored.at(-1)?.id
    const places = this.stored.map(({ id }) => id.split('-').map(Number) as [number, number])
    const isAfter = ([s, n]: [number, number]) => s > series || (s === series && n > seq)
    // A place beyond the end belongs to a lost stream.
    const isLost = places.length > 0 && ![...places].some(([s, n]) => s > series || (s === series && n >= seq))
    const events = this.stored.filter((_, at) => isLost || isAfter(places[at]!)).slice(0, limit)
    return { newestId: newest, events }
  }
}

const owners: Readonly<Record<string, string>> = { 'blue/sky': 'ada' }

function follow(events: ShownEvents) {
  const stop = new AbortController()
  const sent: ShownEvent[] = []
  const ended = (async () => {
    for await (const batch of events.read(stop.signal)) sent.push(...batch)
  })()
  const ids = () => sent.map(({ id }) => id)
  return { sent, ids, stop: () => stop.abort(), ended }
}

const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
}

async function started(most?: number, prepare: (world: World) => void = () => {}) {
  const world = new World(most)
  prepare(world)
  world.feed.start()
  await settled()
  return world
}

describe('ActivityFeed', () => {
  it('sends an event to its owner, to its lab and to administrators, and to nobody else', async () => {
    const world = await started()
    const streams = {
      ada: await world.open({ user: 'ada' }),
      lab: await world.open({ lab: 'ada' }),
      bob: await world.open({ user: 'bob' }),
      labOfBob: await world.open({ lab: 'bob' }),
      all: await world.open('everybody'),
    }
    world.add(5, 1, 'ada')
    world.add(5, 2, 'blue/sky', 'notebook')
    world.add(5, 3, 'blue/nobodys', 'notebook')
    world.ring()
    await settled()
    const ids = Object.fromEntries(Object.entries(streams).map(([name, { ids }]) => [name, ids().join()]))
    expect(ids).toEqual({ ada: '5-1,5-2', lab: '5-1', bob: '', labOfBob: '', all: '5-1,5-2,5-3' })
    expect(JSON.parse(streams.ada.sent[0]!.data)).toEqual({
      ...{ rule: 'gpu', kind: 'lab', id: 'ada', at: '1970-01-01T00:00:01.000Z' },
    })
  })

  it('does not let the data of an event name another workload', async () => {
    const world = await started()
    const all = await world.open('everybody')
    world.add(5, 1, 'ada', 'lab', '{"id":"bob","kind":"app"}')
    world.add(5, 2, 'ada', 'lab', 'no JSON')
    world.ring()
    await settled()
    expect(all.sent.map(({ data }) => JSON.parse(data))).toMatchObject([
      { kind: 'lab', id: 'ada' },
      { kind: 'lab', id: 'ada' },
    ])
  })

  it('reads once for all streams when it rings, and not for other rings', async () => {
    const world = await started()
    const streams = await Promise.all(Array.from({ length: 50 }, () => world.open({ user: 'ada' })))
    const before = world.reads
    world.add(5, 1, 'ada')
    world.ring('events')
    await settled()
    expect(world.reads).toBe(before)
    world.ring()
    await settled()
    expect(streams.every(({ ids }) => ids().join() === '5-1')).toBe(true)
    expect(world.reads).toBe(before + 1)
  })

  it('begins with what comes after a client that names no event', async () => {
    const world = await started(undefined, ({ stored }) => stored.length)
    world.add(5, 1, 'ada')
    world.ring()
    await settled()
    const late = await world.open({ user: 'ada' })
    world.add(5, 2, 'ada')
    world.ring()
    await settled()
    expect(late.ids()).toEqual(['5-2'])
  })

  it('goes on after the event that a client names, without a reading', async () => {
    const world = await started(undefined, w => {
      for (let seq = 1; seq <= 600; seq += 1) w.add(5, seq, seq % 2 ? 'ada' : 'bob')
    })
    const before = world.reads
    const stream = await world.open({ user: 'ada' }, '5-590')
    await settled()
    expect(stream.ids()).toEqual(['5-591', '5-593', '5-595', '5-597', '5-599'])
    expect(world.reads).toBe(before)
    const whole = await world.open({ user: 'ada' }, '5-0')
    await settled()
    expect(whole.ids()).toHaveLength(300)
  })

  it('reads before it answers a client that is ahead of this replica', async () => {
    const world = await started()
    world.add(5, 1, 'ada')
    world.add(5, 2, 'ada')
    const stream = await world.open({ user: 'ada' }, '5-1')
    await settled()
    expect(stream.ids()).toEqual(['5-2'])
  })

  it('sends all that are kept when the named event belongs to a stream that was lost', async () => {
    const world = await started(undefined, w => w.add(7, 1, 'ada'))
    const stream = await world.open({ user: 'ada' }, '9-4')
    await settled()
    expect(stream.ids()).toEqual(['7-1'])
  })

  it('goes on from one series to the next when Redis has lost its data', async () => {
    const world = await started(undefined, w => w.add(5, 1, 'ada'))
    const stream = await world.open({ user: 'ada' }, '5-0')
    await settled()
    world.stored = []
    world.add(6, 1, 'ada')
    world.ring('missed')
    await settled()
    expect(stream.ids()).toEqual(['5-1', '6-1'])
  })

  it('begins anew when the next series is lower, since the clock of Redis went back', async () => {
    const world = await started(undefined, w => w.add(5, 1, 'ada'))
    const stream = await world.open({ user: 'ada' }, '5-0')
    await settled()
    world.stored = []
    world.add(4, 1, 'ada')
    world.add(4, 2, 'bob')
    world.ring('missed')
    await settled()
    world.add(4, 3, 'ada')
    world.ring()
    await settled()
    expect(stream.ids()).toEqual(['5-1', '4-1', '4-3'])
  })

  it('holds nothing for a reader that takes nothing, who then gets what is kept', async () => {
    const world = await started(20)
    const reader = (await world.feed.open({ user: 'ada' }, undefined)).read(new AbortController().signal)
    const iterator = reader[Symbol.asyncIterator]()
    const first = iterator.next()
    world.add(5, 1, 'ada')
    world.ring()
    expect((await first).value).toHaveLength(1)
    for (let seq = 2; seq <= 100; seq += 1) world.add(5, seq, 'ada')
    world.ring()
    await settled()
    const ids = ((await iterator.next()).value as ShownEvent[]).map(({ id }) => id)
    // Of the hundred, about twenty are kept.
    expect(ids.at(-1)).toBe('5-100')
    expect(ids.length).toBeLessThan(25)
  })

  it.each(['', '1', '1-', '-1', 'a-b', '1-2-3', '1-2 ', '99999999999999999-1', '1-9999999999', '１-２'])(
    'refuses %j as the id of an event',
    async id => {
      const world = await started()
      const error = await world.feed.open({ user: 'ada' }, id).catch(each => each)
      expect(error).toBeInstanceOf(ApiError)
      expect(error).toMatchObject({ status: 400, detail: [{ loc: ['header', 'last-event-id'] }] })
    },
  )

  it('cannot open a stream while Redis has never answered, and goes on when it does', async () => {
    const world = new World()
    world.isAway = true
    await expect(world.feed.open({ user: 'ada' }, undefined)).rejects.toThrow(RetryLater)
    world.feed.start()
    await expect(world.feed.open({ user: 'ada' }, undefined)).rejects.toThrow(RetryLater)
    world.isAway = false
    const stream = await world.open({ user: 'ada' })
    world.add(5, 1, 'ada')
    world.ring()
    await settled()
    expect(stream.ids()).toEqual(['5-1'])
    expect(world.errors).toEqual([])
  })

  it('keeps open streams while Redis does not answer', async () => {
    const world = await started()
    const stream = await world.open({ user: 'ada' })
    world.isAway = true
    world.add(5, 1, 'ada')
    world.ring()
    await settled()
    expect(stream.ids()).toEqual([])
    world.isAway = false
    world.ring()
    await vi.waitUntil(() => stream.ids().length > 0)
    expect(stream.ids()).toEqual(['5-1'])
  })

  it('ends a stream that is stopped, and answers nobody after its own end', async () => {
    const world = await started()
    const stream = await world.open({ user: 'ada' })
    stream.stop()
    await stream.ended
    await world.feed.stop()
    await expect(world.feed.open({ user: 'ada' }, '9-9')).rejects.toThrow(RetryLater)
  })
})
