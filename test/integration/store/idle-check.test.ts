/** Ends of checks: what is known of an incarnation, and the events about it. */
import { describe, expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import type { ActivityEvent } from '../../../src/store/idle.ts'
import { activity, hourMs, minuteMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const warning: ActivityEvent = { event: 'warning', data: '{"rule":"short"}' }

test('end writes what read returns, and nothing ahead of now', async () => {
  const { due } = idle()
  await due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  const known = activity({
    ...{ sinceMs: now - 5000, lastMs: now - 4000, checkedMs: now - 10, warnedMs: now - 3000, keepMs: now + hourMs },
    ...{ failures: 2, unreachableMs: now - 2000, toldMs: now - 1000, readings: { 'a b"': 1.5 } },
  })
  await idle().check('app', 'a', { activity: known })
  const read = await idle().activity.read('app', 'a', podUid)
  expect(read).toMatchObject({ activity: known, touches: 0, trafficIsUntold: true })
  expect(read.nowMs).toBeGreaterThanOrEqual(read.floorMs)
  expect(await idle().activity.read('app', 'a', 'another')).toMatchObject({ activity: undefined })
  const ahead = now + hourMs
  const future = activity({ sinceMs: ahead, lastMs: ahead, checkedMs: ahead, warnedMs: ahead, unreachableMs: ahead })
  await idle().check('app', 'a', { activity: future })
  const { activity: after, nowMs } = await idle().activity.read('app', 'a', podUid)
  for (const ms of [after!.sinceMs, after!.lastMs, after!.checkedMs, after!.warnedMs, after!.unreachableMs]) {
    expect(ms).toBeLessThanOrEqual(nowMs)
    expect(ms).toBeGreaterThan(now - 1)
  }
})

test('end is refused when the workload was taken again, and answers a repetition as before', async () => {
  const { due, store } = idle()
  await due.enrol('app', ['a'], 0)
  const stale = await idle().take('app', 'a')
  const taken = await idle().take('app', 'a')
  expect(await idle().end('app', stale, { events: [warning] })).toBe(false)
  expect(await idle().told()).toEqual([])
  for (let i = 0; i < 2; i++) expect(await idle().end('app', taken, { events: [warning] })).toBe(true)
  expect(await idle().told()).toEqual(['warning a'])
  expect(Number(await store.redis.zscore(store.keys.due('app'), 'a'))).toBeGreaterThan(
    ((await idle().nowMs()) + minuteMs / 2) * 1000,
  )
  await due.dismiss('app', 'a')
  expect(await idle().end('app', taken)).toBe(false)
})

describe('the latest activity', () => {
  const lastAfter = async (...checks: (readonly [podUid: string, ago: number])[]) => {
    const now = await idle().nowMs()
    await idle().due.enrol('app', ['a'], 0)
    for (const [podUid, ago] of checks) {
      await idle().check('app', 'a', { activity: activity({ podUid, lastMs: now - ago, source: `by ${ago}` }) })
    }
    const { activity: known } = await idle().activity.read('app', 'a', checks.at(-1)![0])
    return [now - known!.lastMs, known!.source]
  }

  test('never falls within an incarnation, whatever order checks end in', async () => {
    expect(await lastAfter(['p', 5000], ['p', 1000], ['p', 3000])).toEqual([1000, 'by 1000'])
  })

  test('begins anew with another pod', async () => {
    expect(await lastAfter(['p', 1000], ['q', 3000])).toEqual([3000, 'by 3000'])
  })

  test('of a former pod is not that of the next one when an older touch comes during its first check', async () => {
    const now = await idle().nowMs()
    await idle().due.enrol('app', ['a'], 0)
    await idle().check('app', 'a', { activity: activity({ podUid: 'former', lastMs: now - 1000 }) })
    const taken = await idle().take('app', 'a')
    const { touches } = await idle().activity.read('app', 'a', podUid)
    expect(await idle().touches.touch('app', { id: 'a', ageMs: minuteMs }, 'push')).toBe('kept')
    await idle().end('app', taken, { activity: activity({ lastMs: now - hourMs }), touches })
    const { activity: known } = await idle().activity.read('app', 'a', podUid)
    expect(known!.source).toBe('push')
    expect(now - known!.lastMs).toBeGreaterThan(minuteMs - 10_000)
  })
})

test('another incarnation forgets all but why the workload was stopped', async () => {
  const { due, store } = idle()
  await due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  const known = activity({
    lastMs: now - 1,
    warnedMs: now - 1,
    keepMs: now + hourMs,
    failures: 3,
    unreachableMs: now - 1,
  })
  await idle().check('app', 'a', { activity: known })
  await store.redis.hset(store.keys.activity('app', 'a'), 'stop', 'idle', 'stopped', now)
  await idle().check('app', 'a', { activity: activity({ podUid: 'next', lastMs: now - 1 }) })
  const { activity: after } = await idle().activity.read('app', 'a', 'next')
  expect(after).toMatchObject({ warnedMs: 0, keepMs: 0, failures: 0, unreachableMs: 0, stoppedMs: now })
  expect(after).toMatchObject({ stopWords: 'idle' })
  await store.redis.hset(store.keys.activity('app', 'a'), 'stopped', now - 8 * 24 * hourMs)
  await idle().check('app', 'a', { activity: activity({ podUid: 'next' }) })
  expect(await idle().activity.find('app', ['a'])).toMatchObject([{ stopped: undefined }])
})

test('end moves a workload to the lane of those that do not answer, and back', async () => {
  const { due, store } = idle()
  await due.enrol('app', ['a'], 0)
  const lanes = () =>
    Promise.all([store.keys.due('app'), store.keys.dueSlow('app')].map(key => store.redis.zrange(key, '0', '-1')))
  await idle().check('app', 'a', { activity: activity({ failures: 1 }) })
  expect(await lanes()).toEqual([[], ['a']])
  await idle().check('app', 'a', { activity: activity({ failures: 2 }) })
  expect(await lanes()).toEqual([[], ['a']])
  await idle().check('app', 'a')
  expect(await lanes()).toEqual([['a'], []])
})

test('a touch during the check voids its warning, but not what it says of answers', async () => {
  const { due, touches } = idle()
  await due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  await idle().check('app', 'a', { activity: activity({ lastMs: now - hourMs }) })
  const taken = await idle().take('app', 'a')
  const read = await idle().activity.read('app', 'a', podUid)
  expect(await touches.touch('app', { id: 'a', ageMs: 0 }, 'push')).toBe('kept')
  const warned = activity({ lastMs: now - hourMs, warnedMs: now })
  const unreachable: ActivityEvent = { event: 'unreachable', data: '{}' }
  await idle().end('app', taken, { activity: warned, touches: read.touches, events: [warning, unreachable] })
  expect(await idle().told()).toEqual(['unreachable a'])
  const { activity: after, touches: count } = await idle().activity.read('app', 'a', podUid)
  expect(after).toMatchObject({ warnedMs: 0, source: 'push' })
  expect(after!.lastMs).toBeGreaterThanOrEqual(now)
  expect(count).toBe(read.touches + 1)
})

test('a warning counts from when it is told, and stands as it is afterwards', async () => {
  const { due } = idle()
  await due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  const decided = activity({ lastMs: now - hourMs, warnedMs: now - minuteMs })
  await idle().check('app', 'a', { activity: decided, events: [warning] })
  const { activity: warned } = await idle().activity.read('app', 'a', podUid)
  expect(warned!.warnedMs).toBeGreaterThanOrEqual(now)
  await idle().check('app', 'a', { activity: warned! })
  expect((await idle().activity.read('app', 'a', podUid)).activity).toMatchObject({ warnedMs: warned!.warnedMs })
})

describe('words for the user of a lab', () => {
  const words = ['It will be stopped at 12:00 UTC']
  const endWith = async (more: { op?: number; pod?: string } = {}) => {
    const op = await idle().store.run('ada', podUid)
    await idle().due.musterLabs(0)
    const rings = await idle().store.rings()
    const found = activity({ podUid: more.pod ?? podUid })
    await idle().check('lab', 'ada', { activity: found, lab: { op: more.op ?? op, words }, events: [warning] })
    return { op, rung: (await idle().store.rings()) - rings }
  }

  test('follow in its own stream, beside the event in that of all', async () => {
    const { op, rung } = await endWith()
    expect((await idle().store.eventsOf('ada')).at(-1)).toEqual([3, 'info', words[0]])
    expect(rung).toBe(2)
    // The deletion goes on in a stream of its own.
    await idle().store.delete('ada')
    expect(await idle().store.eventsOf('ada', op)).toHaveLength(3)
  })

  test.each([
    ['another operation', { op: 7 }],
    ['another pod', { pod: 'another' }],
  ])('are left out for %s', async (_, more) => {
    await endWith(more)
    expect(await idle().store.eventsOf('ada')).toHaveLength(2)
    expect(await idle().told()).toEqual(['warning ada'])
  })

  test('are left out while an operation runs, or the data are not compared', async () => {
    const op = await idle().store.run('ada', podUid)
    await idle().due.musterLabs(0)
    const { redis, keys } = idle().store
    await redis.hset(keys.generation, 'identity', 'another')
    await idle().check('lab', 'ada', { lab: { op, words } })
    await idle().store.compare()
    await idle().store.delete('ada')
    await idle().check('lab', 'ada', { lab: { op, words } })
    expect(await idle().store.eventsOf('ada', op)).toHaveLength(2)
  })
})

test('readLab returns the record of a lab that runs, and none during an operation', async () => {
  const { store } = idle()
  const op = await store.run('ada', podUid)
  await store.redis.hset(store.keys.record('ada'), 'credential', 'sealed')
  const read = await idle().activity.readLab('ada', podUid)
  expect(read).toMatchObject({ activity: undefined, touches: 0 })
  expect(read.lab).toMatchObject({ op, podUid, namespaceUid: 'namespace-uid', credential: 'sealed' })
  expect(read.lab!.view.username).toBe('ada')
  await store.delete('ada')
  expect((await idle().activity.readLab('ada', podUid)).lab).toBeUndefined()
  expect((await idle().activity.readLab('bob', podUid)).lab).toBeUndefined()
  await store.redis.hset(store.keys.generation, 'identity', 'another')
  await expect(idle().activity.readLab('ada', podUid)).rejects.toThrow(RetryLater)
})

test('find returns what the API shows', async () => {
  const { due, touches } = idle()
  await due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  const finding = { state: 'warned', rule: 'gpu', eligibleMs: now + minuteMs } as const
  await idle().check('app', 'a', { activity: activity({ lastMs: now - 5 }), finding })
  await touches.keepAlive('app', { id: 'b', podUid }, hourMs)
  const [a, b, c] = await idle().activity.find('app', ['a', 'b', 'c'])
  expect(a).toMatchObject({ finding, activity: { lastMs: now - 5 }, stopped: undefined, stoppingMs: 0, keepMs: 0 })
  expect(b).toMatchObject({ activity: undefined, finding: undefined })
  expect(b!.keepMs).toBeGreaterThan(now)
  expect(c).toBeUndefined()
})

describe('readEvents', () => {
  const tell = async (count: number) => {
    for (let i = 0; i < count; i++) await idle().check('app', 'a', { events: [warning] })
  }

  test('returns each event once, in order, with the newest place', async () => {
    await idle().due.enrol('app', ['a'], 0)
    expect(await idle().activity.readEvents('0-0', 10)).toEqual({ newestId: undefined, events: [] })
    await tell(3)
    const all = await idle().activity.readEvents('0-0', 10)
    expect(all.events.map(({ id }) => id.split('-')[1])).toEqual(['1', '2', '3'])
    expect(all.events[0]).toMatchObject({ kind: 'app', workload: 'a', ...warning })
    expect(all.newestId).toBe(all.events[2]!.id)
    const rest = await idle().activity.readEvents(all.events[0]!.id, 1)
    expect(rest).toEqual({ newestId: all.newestId, events: [all.events[1]] })
    expect((await idle().activity.readEvents(all.newestId!, 10)).events).toEqual([])
  })

  test('shows a loss by another series', async () => {
    const { redis, keys } = idle().store
    await idle().due.enrol('app', ['a'], 0)
    await tell(2)
    const before = (await idle().activity.readEvents('0-0', 10)).newestId!
    await redis.del(keys.activityFloor, keys.activityEvents)
    await idle().nowMs()
    await tell(1)
    const { newestId, events } = await idle().activity.readEvents(before, 10)
    expect(events.map(({ id }) => id)).toEqual([newestId])
    expect(newestId!.split('-')[1]).toBe('1')
    expect(Number(newestId!.split('-')[0])).toBeGreaterThan(Number(before.split('-')[0]))
    // A clock that went back: the place of a lost series lies beyond the end.
    const beyond = await idle().activity.readEvents(`${Number(newestId!.split('-')[0]) + hourMs}-7`, 10)
    expect(beyond.events).toEqual(events)
  })

  test('another Redis begins a series of its own, above all that are there', async () => {
    const { redis, keys } = idle().store
    await idle().due.enrol('app', ['a'], 0)
    await redis.xadd(keys.activityEvents, `${(await idle().nowMs()) + hourMs}-9`, 'event', 'kept')
    await redis.hset(keys.activityFloor, 'identity', 'another', 'floor', 1, 'series', 1, 'events', 9)
    await tell(1)
    const { events } = await idle().activity.readEvents('0-0', 10)
    expect(events).toHaveLength(2)
    expect(Number(events[1]!.id.split('-')[0])).toBe(Number(events[0]!.id.split('-')[0]) + 1)
  })
})
