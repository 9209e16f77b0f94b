/** When workloads are checked: each by one replica at a time, and none forgotten. */
import { expect, test, vi } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { activity, farthestMs, minuteMs, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const scores = async (key: string) => {
  const flat = await idle().store.redis.zrange(key, '0', '-1', 'WITHSCORES')
  return new Map(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, Number(flat[2 * i + 1]!)]))
}
const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`)
const limit = 1000

test('musterLabs adds the labs that run, spread over the period, and removes those that are gone', async () => {
  const { due, store } = idle()
  const { redis, keys } = store
  await redis.zadd(keys.index, ...names(100).flatMap(name => [2, name]), 1, 'pending', 3, 'ending', 4, 'failed')
  await redis.zadd(keys.dueSlow('lab'), 1, 'gone', 5, 'n7')
  await redis.zadd(keys.activityStates('lab'), 1, 'gone')
  const before = (await idle().nowMs()) * 1000
  expect(await due.musterLabs(minuteMs)).toEqual({ added: 99, removed: 1 })
  const times = [...(await scores(keys.due('lab'))).values()].map(score => score - before)
  expect(times).toHaveLength(99)
  // Each tenth of the period has a tenth of them, wherever the spread begins.
  const tenths = Map.groupBy(times, us => Math.min(9, Math.floor(us / (minuteMs * 100))))
  for (let i = 0; i < 10; i++) expect(tenths.get(i)?.length ?? 0).toBeGreaterThanOrEqual(8)
  expect(await scores(keys.dueSlow('lab'))).toEqual(new Map([['n7', 5]]))
  expect(await redis.zcard(keys.activityStates('lab'))).toBe(0)
  const after = await scores(keys.due('lab'))
  expect(await due.musterLabs(minuteMs)).toEqual({ added: 0, removed: 0 })
  expect(await scores(keys.due('lab'))).toEqual(after)
})

test('musterLabs changes nothing when the data are not compared', async () => {
  const { due, store } = idle()
  await store.redis.zadd(store.keys.due('lab'), 5, 'ada')
  await store.redis.hset(store.keys.generation, 'identity', 'another')
  await expect(due.musterLabs(minuteMs)).rejects.toThrow(RetryLater)
  expect(await scores(store.keys.due('lab'))).toEqual(new Map([['ada', 5]]))
})

test('enrol adds what is not checked yet, and dismiss forgets the incarnation', async () => {
  const { due, store } = idle()
  expect(await due.enrol('notebook', ['a/x', 'a/y'], 0)).toBe(2)
  await idle().check('notebook', 'a/y', { activity: activity({ failures: 1 }) })
  expect(await due.enrol('notebook', ['a/x', 'a/y', 'b/x'], 0)).toBe(1)
  expect(await due.ids('notebook')).toEqual(['a/x', 'a/y', 'b/x'])
  await due.dismiss('notebook', 'a/y')
  expect(await due.ids('notebook')).toEqual(['a/x', 'b/x'])
  expect(await idle().known('notebook', 'a/y')).toEqual({})
  expect(await store.redis.zcard(store.keys.activityStates('notebook'))).toBe(0)
  expect(await due.enrol('notebook', [], 0)).toBe(0)
})

test('take gives each workload to one of many replicas', async () => {
  const { due } = idle()
  await due.enrol('app', names(300), 0)
  const takes = await Promise.all(Array.from({ length: 12 }, () => due.take('app', 'fast', { limit: 40, farthestMs })))
  const taken = takes.flatMap(each => each.taken)
  expect(new Set(taken.map(({ id }) => id)).size).toBe(300)
  expect(taken).toHaveLength(300)
  expect(new Set(taken.map(({ score }) => score)).size).toBe(300)
})

test('take begins with the longest due, says how late, and when the next is due', async () => {
  const { due, store } = idle()
  const nowUs = (await idle().nowMs()) * 1000
  const at = (ms: number) => nowUs + ms * 1000
  await store.redis.zadd(store.keys.due('app'), at(-3000), 'b', at(-5000), 'a', at(60_000), 'later')
  const first = await due.take('app', 'fast', { limit: 1, farthestMs })
  expect(first.taken.map(({ id }) => id)).toEqual(['a'])
  expect(first.taken[0]!.lateMs).toBeGreaterThanOrEqual(5000)
  expect(first.taken[0]!.lateMs).toBeLessThan(15_000)
  expect(first.nextInMs).toBe(0)
  const second = await due.take('app', 'fast', { limit, farthestMs })
  expect(second.taken.map(({ id }) => id)).toEqual(['b'])
  expect(second.nextInMs).toBeGreaterThan(10_000)
  expect(second.nextInMs).toBeLessThanOrEqual(20_000)
  expect(Math.abs(second.nowMs - (await idle().nowMs()))).toBeLessThan(5000)
  expect(await due.take('statefulset', 'fast', { limit, farthestMs })).toMatchObject({ taken: [], nextInMs: undefined })
})

test('take takes from one lane alone', async () => {
  const { due, store } = idle()
  await store.redis.zadd(store.keys.due('app'), 1, 'quick')
  await store.redis.zadd(store.keys.dueSlow('app'), 1, 'hung')
  expect((await due.take('app', 'slow', { limit, farthestMs })).taken).toMatchObject([{ id: 'hung' }])
  expect((await due.take('app', 'fast', { limit, farthestMs })).taken).toMatchObject([{ id: 'quick' }])
})

test('take gives what a dead replica has taken to another one when its time is over, and the dead one writes nothing more', async () => {
  const { due } = idle()
  await due.enrol('app', ['a'], 0)
  const dead = (await due.take('app', 'fast', { limit, farthestMs, takeMs: 300 })).taken[0]!
  expect((await due.take('app', 'fast', { limit, farthestMs })).taken).toEqual([])
  const next = await vi.waitUntil(
    async () => (await due.take('app', 'fast', { limit, farthestMs, takeMs: 300 })).taken[0],
    { timeout: 10_000, interval: 20 },
  )
  expect(next).toMatchObject({ id: 'a' })
  expect(next!.score).not.toBe(dead.score)
  expect(await idle().end('app', dead)).toBe(false)
  expect(await idle().known('app', 'a')).toEqual({})
  expect(await idle().end('app', next!)).toBe(true)
})

test('take counts what is due later than any check may be as due', async () => {
  const { due, store } = idle()
  const nowUs = (await idle().nowMs()) * 1000
  await store.redis.zadd(store.keys.due('app'), nowUs + (farthestMs + 60_000) * 1000, 'ahead', nowUs + 60_000_000, 'b')
  expect((await due.take('app', 'fast', { limit, farthestMs })).taken).toMatchObject([{ id: 'ahead', lateMs: 0 }])
})

test('census counts workloads by what their last check found and by lane, and forgets those that are gone', async () => {
  const { due } = idle()
  await due.enrol('app', ['a', 'b', 'c', 'd'], 0)
  const found = (state: 'active' | 'warned' | 'unknown') => ({ finding: { state, rule: '', eligibleMs: 0 } })
  await idle().check('app', 'a', found('active'))
  await idle().check('app', 'b', found('active'))
  await idle().check('app', 'b', found('warned'))
  await idle().check('app', 'c', { ...found('unknown'), activity: activity({ failures: 1 }) })
  expect(await due.census('app')).toEqual({
    states: { active: 1, idle: 0, warned: 1, unknown: 1 },
    lanes: { fast: 3, slow: 1 },
  })
  await due.dismiss('app', 'b')
  expect(await due.census('app')).toEqual({
    states: { active: 1, idle: 0, warned: 0, unknown: 1 },
    lanes: { fast: 2, slow: 1 },
  })
})

test('no key of the idle engine stays for ever', async () => {
  const { due, store, touches } = idle()
  await idle().idleLab('ada')
  await due.enrol('app', ['a', 'b'], 0)
  await idle().check('app', 'a', {
    activity: activity({ failures: 1 }),
    events: [{ event: 'unreachable', data: '{}' }],
  })
  await idle().check('app', 'b')
  await touches.touchAll('app', [{ id: 'c', ageMs: 0 }], 'traffic', { gateway: 'gateway' })
  await idle().activity.cullLab(await idle().askFor('ada'))
  const keys = await store.redis.keys(`{${store.prefix}}:*`)
  const ofIdle = keys.filter(key => /:(due|activity)/.test(key))
  expect(ofIdle.map(key => key.replace(/^.*?}:/, '')).sort()).toEqual([
    ...['activity-events', 'activity-floor', 'activity-flushed:app', 'activity-states:app', 'activity-stops:lab'],
    ...['activity:app:a', 'activity:app:b', 'activity:app:c', 'activity:lab:ada', 'due-slow:app', 'due:app'],
  ])
  for (const key of ofIdle) expect(await store.redis.pttl(key), key).toBeGreaterThan(0)
})
