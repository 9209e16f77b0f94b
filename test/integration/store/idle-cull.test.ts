/** Requests to stop: one script settles. Each reason to refuse, and what follows a request. */
import { describe, expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { NumberAhead } from '../../../src/store/compares.ts'
import type { CullRequest } from '../../../src/store/idle.ts'
import { activity, hourMs, type Idle, minuteMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const key = () => idle().store.keys.activity('lab', 'ada')
const set = (...fields: (string | number)[]) => idle().store.redis.hset(key(), ...fields)
const cull = async (more: Partial<CullRequest> = {}) => idle().activity.cullLab(await idle().askFor('ada', more))

test('cullLab makes a deletion that any replica owns, and tells it', async () => {
  const { store, due } = idle()
  const before = await idle().idleLab('ada')
  const rings = await store.rings()
  const ask = await idle().askFor('ada', { by: '{"user":"ada"}' })
  const { op } = (await idle().activity.cullLab(ask)) as { op: number }
  expect(op).toBeGreaterThan(before)
  // Its own acceptance, and the event.
  expect(await store.rings()).toBe(rings + 2)
  const now = await idle().nowMs()
  const record = await store.record('ada')
  expect(record).toMatchObject({
    op,
    kind: 'delete',
    status: 'terminating',
    active: true,
    podUid,
    by: '{"user":"ada"}',
  })
  expect(Math.abs(record!.culledMs! - now)).toBeLessThan(10_000)
  expect(await store.eventsOf('ada')).toEqual([[1, 'info', ask.words]])
  const { events } = await idle().activity.readEvents('0-0', 10)
  expect(events).toMatchObject([{ event: 'stopping', kind: 'lab', workload: 'ada', data: ask.data }])
  expect((await idle().activity.find('lab', ['ada']))[0]!.stopped).toMatchObject({ words: ask.words })
  expect(await due.ids('lab')).toEqual([])
  expect(await store.redis.zcard(store.keys.audit)).toBe(1)
  // After a lost reply it is sent again.
  expect(await idle().activity.cullLab(ask)).toEqual({ op })
  expect(await store.rings()).toBe(rings + 2)
  expect((await store.own('ada')).claim.record.op).toBe(op)
})

describe('cullLab refuses', () => {
  test.each<[string, Partial<CullRequest>]>([
    ['another op', { op: 7 }],
    ['another pod', { podUid: 'another' }],
    ['a score of an earlier taker', { score: '7' }],
    ['another latest activity than was read', { readLastMs: 7 }],
    ['touches since the read', { touches: 7 }],
    ['a warning that is too young', { warnMs: 3 * hourMs }],
    ['a time that is not over', { timeoutMs: 3 * hourMs }],
    ['a lab that answers, as unreachable', { why: 'unreachable' }],
  ])('%s', async (_, more) => {
    await idle().idleLab('ada')
    expect(await cull(more)).toBe('changed')
    expect(await idle().store.record('ada')).toMatchObject({ status: 'running' })
    expect(await idle().told()).toEqual([])
    expect(await cull()).toHaveProperty('op')
  })

  test.each<[string, (ask: CullRequest) => Promise<unknown> | Partial<CullRequest>]>([
    ['a lab whose look shows later activity', ({ lastMs }) => ({ lastMs: lastMs + hourMs + 5 * minuteMs })],
    ['a touch meanwhile', () => idle().touches.touch('lab', { id: 'ada', ageMs: 3 * hourMs }, 'push')],
    ['a request to keep it meanwhile', () => idle().touches.keepAlive('lab', { id: 'ada', podUid }, hourMs)],
    ['a request to keep it that lasts', async () => set('keep', (await idle().nowMs()) + minuteMs)],
    ['a lab that was not warned', () => set('warned', 0)],
    ['an incarnation of which nothing is known', () => set('pod', 'another')],
    ['what is taken by another replica', () => idle().take('lab', 'ada')],
    ['what is checked no more', () => idle().due.dismiss('lab', 'ada')],
    ['a deletion that was asked for', () => idle().store.delete('ada')],
  ])('%s', async (_, meanwhile) => {
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada')
    const changed = await meanwhile(ask)
    const more = typeof changed === 'object' && changed !== null && 'lastMs' in changed ? changed : {}
    expect(await idle().activity.cullLab({ ...ask, ...more })).toBe('changed')
    expect((await idle().store.record('ada'))!.culledMs).toBeUndefined()
  })

  test('a lab that is idle for just the time, not longer', async () => {
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada')
    // Redis' clock moves on between the two.
    const timeoutMs = (await idle().nowMs()) + 500 - ask.lastMs
    expect(await idle().activity.cullLab({ ...ask, timeoutMs })).toBe('changed')
  })

  test('labs within a time after the floor, which nobody is idle beyond', async () => {
    await idle().idleLab('ada')
    await idle().activity.raiseFloor()
    expect(await cull()).toBe('changed')
    expect(await cull({ why: 'age' })).toHaveProperty('op')
  })

  test('another Redis, and raises the floor', async () => {
    const { redis, keys } = idle().store
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada')
    await redis.hset(keys.activityFloor, 'identity', 'another')
    expect(await idle().activity.cullLab(ask)).toBe('clock')
    const { floorMs, nowMs } = await idle().activity.read('lab', 'ada', podUid)
    expect(nowMs - floorMs).toBeLessThan(minuteMs)
    expect(await idle().activity.cullLab(ask)).toBe('changed')
  })

  test.each([6000, -6000])('a clock that is %i ms off, and raises the floor', async ms => {
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada')
    expect(await idle().activity.cullLab({ ...ask, expectedMs: ask.expectedMs + ms })).toBe('clock')
    expect(await cull()).toBe('changed')
  })

  test('data that are not compared, and a number that is ahead', async () => {
    const { redis, keys } = idle().store
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada')
    await redis.set(keys.last, String(Number.MAX_SAFE_INTEGER))
    await expect(idle().activity.cullLab(ask)).rejects.toThrow(NumberAhead)
    expect(await idle().known('lab', 'ada')).not.toHaveProperty('stopping')
    await redis.hset(keys.generation, 'identity', 'another')
    await expect(idle().activity.cullLab(ask)).rejects.toThrow(RetryLater)
  })
})

describe('a lab older than its rule permits', () => {
  test('is stopped though it is busy, touched and kept, but not without its warning', async () => {
    await idle().idleLab('ada')
    const ask = await idle().askFor('ada', { why: 'age' })
    await idle().touches.touch('lab', { id: 'ada', ageMs: 0 }, 'push')
    await idle().touches.keepAlive('lab', { id: 'ada', podUid }, hourMs)
    expect(await idle().activity.cullLab({ ...ask, warnMs: 3 * hourMs })).toBe('changed')
    expect(await idle().activity.cullLab(ask)).toHaveProperty('op')
  })

  test('is stopped on first sight when no warning is needed', async () => {
    await idle().store.run('ada', podUid)
    await idle().due.musterLabs(0)
    expect(await cull({ why: 'age' })).toBe('changed')
    expect(await cull({ why: 'age', warnMs: 0 })).toHaveProperty('op')
  })
})

describe('a lab that does not answer', () => {
  const unreachable = { why: 'unreachable', timeoutMs: hourMs } as const
  const silence = async (agoMs: number) => set('unreachable', (await idle().nowMs()) - agoMs, 'fails', 3)

  test('is stopped when that has lasted', async () => {
    await idle().idleLab('ada')
    await silence(hourMs - minuteMs)
    expect(await cull(unreachable)).toBe('changed')
    await silence(hourMs + minuteMs)
    expect(await cull(unreachable)).toHaveProperty('op')
  })

  test('is held while over a fifth of its kind do not answer', async () => {
    const { redis, keys } = idle().store
    await idle().idleLab('ada')
    await silence(2 * hourMs)
    const ask = await idle().askFor('ada', unreachable)
    await redis.zadd(keys.due('lab'), ...Array.from({ length: 3 }, (_, i) => [1, `n${i}`]).flat())
    await redis.zadd(keys.dueSlow('lab'), 1, 'hung')
    // One of five is no more than a fifth.
    await redis.zadd(keys.dueSlow('lab'), 1, 'hung too')
    expect(await idle().activity.cullLab(ask)).toBe('held')
    await redis.zrem(keys.dueSlow('lab'), 'hung too')
    expect(await idle().activity.cullLab(ask)).toHaveProperty('op')
  })
})

describe('the fuse', () => {
  const stopped = () => idle().store.redis.zcard(idle().store.keys.activityStops('lab'))
  /** Labs of which none was ever active, as by a time-out that is far too short. */
  async function manyIdle(count: number): Promise<CullRequest[]> {
    const { store, due, activity: store_ } = idle()
    const names = Array.from({ length: count }, (_, i) => `u${i}`)
    await Promise.all(names.map(name => store.run(name, podUid)))
    await due.musterLabs(0)
    await idle().activity.raiseFloor()
    await idle().pass('lab', 'nobody', 2 * hourMs)
    const taken = await takeAll(idle(), count)
    const last = (await idle().nowMs()) - 2 * hourMs
    await Promise.all(taken.map(each => idle().end('lab', each, { activity: activity({ lastMs: last }), nextInMs: 0 })))
    const again = await takeAll(idle(), count)
    return Promise.all(
      again.map(async ({ id, score }) => {
        const read = await store_.readLab(id, podUid)
        return { ...idle().ask(id, score, read), op: read.lab!.op, timeLimitMs: minuteMs, warnMs: 0 }
      }),
    )
  }

  test('lets only so many stop within a minute, and then as many more', async () => {
    const asks = await manyIdle(60)
    const cullAll = () => Promise.all(asks.map(ask => idle().activity.cullLab({ ...ask, stopsPerMinute: 20 })))
    const first = await cullAll()
    expect(first.filter(answer => answer === 'held')).toHaveLength(40)
    expect(first.filter(answer => typeof answer === 'object')).toHaveLength(20)
    // A repetition of those that were stopped counts nothing twice.
    expect((await cullAll()).filter(answer => typeof answer === 'object')).toHaveLength(20)
    expect(await stopped()).toBe(20)
    const { redis, keys } = idle().store
    const now = await idle().nowMs()
    const members = await redis.zrange(keys.activityStops('lab'), '0', '-1')
    await redis.zadd(keys.activityStops('lab'), ...members.flatMap(each => [now - minuteMs - 1, each]))
    expect((await cullAll()).filter(answer => typeof answer === 'object')).toHaveLength(40)
    expect(await stopped()).toBe(20)
  })

  test('lets a twentieth of those that are left stop where that is more', async () => {
    const asks = await manyIdle(63)
    const answers = await Promise.all(asks.map(ask => idle().activity.cullLab({ ...ask, stopsPerMinute: 1 })))
    expect(answers.filter(answer => typeof answer === 'object')).toHaveLength(3)
  })

  test('counts stops that are ahead, since the clock went back, as those of now', async () => {
    const { redis, keys } = idle().store
    const asks = await manyIdle(2)
    await redis.zadd(keys.activityStops('lab'), (await idle().nowMs()) + hourMs, 'ahead')
    expect(await idle().activity.cullLab({ ...asks[0]!, stopsPerMinute: 1 })).toBe('held')
    expect(Number(await redis.zscore(keys.activityStops('lab'), 'ahead'))).toBeLessThanOrEqual(await idle().nowMs())
  })
})

async function takeAll({ due }: Idle, count: number) {
  const { taken } = await due.take('lab', 'fast', { limit: count, farthestMs: hourMs })
  if (taken.length !== count) throw new Error(`${taken.length} of ${count} were due`)
  return taken
}
