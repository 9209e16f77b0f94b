/** Redis' clock steps by an hour, or its data are lost: nobody counts as idle for longer than since then. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Redis } from '../../../dev/redis/redis.ts'
import { activity, hourMs, Idle, minuteMs, podUid } from '../../kit/store/idle.ts'
import { ownRedis, Store } from '../../kit/store/store.ts'

let server: Redis
let idle: Idle
beforeAll(async () => {
  server = await ownRedis({ wrongClock: true })
})
afterAll(() => server.stop())
beforeEach(async () => {
  server.stepClock(0)
  idle = new Idle(await Store.open(server))
  await idle.store.compare()
})
afterEach(() => idle.store.close())

/** Steps the clock, and reads the step back. */
async function step(ms: number): Promise<void> {
  const before = await idle.nowMs()
  server.stepClock(ms / 1000)
  expect(Math.abs((await idle.nowMs()) - before - ms)).toBeLessThan(10_000)
}

const rule = { timeoutMs: hourMs / 2, warnMs: 0 }

/** A lab that was used a moment ago. */
async function usedLab(): Promise<void> {
  await idle.store.run('ada', podUid)
  await idle.due.musterLabs(0)
  const now = await idle.nowMs()
  await idle.check('lab', 'ada', { activity: activity({ sinceMs: now, lastMs: now, warnedMs: now }) })
  // The floor is older, so that it protects nobody yet.
  await idle.store.redis.hset(idle.store.keys.activityFloor, 'floor', now - 3 * hourMs)
}

describe.each([hourMs, -hourMs])('a step of %i ms', ms => {
  test('between look and script stops nobody, and raises the floor', async () => {
    await usedLab()
    const ask = await idle.askFor('ada', rule)
    await step(ms)
    expect(await idle.activity.cullLab(ask)).toBe('clock')
    const { floorMs, nowMs } = await idle.activity.read('lab', 'ada', podUid)
    expect(Math.abs(nowMs - floorMs)).toBeLessThan(minuteMs)
    expect(await idle.activity.cullLab(await idle.askFor('ada', rule))).toBe('changed')
  })

  test('before the look stops nobody, by what the replica expects', async () => {
    await usedLab()
    const expectedMs = await idle.nowMs()
    await step(ms)
    const ask = await idle.askFor('ada', { ...rule, expectedMs })
    expect(await idle.activity.cullLab(ask)).toMatch(/clock|changed/)
    expect(await idle.store.record('ada')).toMatchObject({ status: 'running' })
  })

  test('leaves no workload unchecked', async () => {
    await usedLab()
    await step(ms)
    const taken = await idle.due.take('lab', 'fast', { limit: 1, farthestMs: hourMs / 2 })
    expect(taken.taken).toMatchObject([{ id: 'ada' }])
  })
})

test('after a step back nothing known is ahead of the clock, and the floor is now', async () => {
  await usedLab()
  await step(-hourMs)
  const before = await idle.activity.read('lab', 'ada', podUid)
  expect(before.activity!.lastMs).toBeLessThanOrEqual(before.nowMs)
  await idle.touches.touch('lab', { id: 'ada', ageMs: 0 }, 'push')
  await idle.check('lab', 'ada', { activity: before.activity! })
  const { activity: after, nowMs, floorMs } = await idle.activity.read('lab', 'ada', podUid)
  for (const ms of [after!.lastMs, after!.warnedMs, after!.sinceMs, floorMs]) expect(ms).toBeLessThanOrEqual(nowMs)
})

test('a touch before a step back keeps nobody for longer than since the first check after it', async () => {
  await usedLab()
  await idle.touches.touch('lab', { id: 'ada', ageMs: 0 }, 'push')
  await step(-hourMs)
  const before = await idle.activity.read('lab', 'ada', podUid)
  await idle.check('lab', 'ada', { activity: before.activity! })
  await idle.pass('lab', 'ada', 30 * minuteMs)
  const { activity: after, nowMs } = await idle.activity.read('lab', 'ada', podUid)
  expect(nowMs - after!.lastMs).toBeGreaterThanOrEqual(30 * minuteMs)
  expect(nowMs - after!.lastMs).toBeLessThan(31 * minuteMs)
})

test('a touch after a step back is noticed by a request to stop', async () => {
  await usedLab()
  await idle.pass('lab', 'ada', 2 * hourMs)
  await step(-hourMs / 4)
  await idle.store.redis.hset(idle.store.keys.activityFloor, 'floor', (await idle.nowMs()) - 3 * hourMs)
  const ask = await idle.askFor('ada', rule)
  // By its age it is older than what is known, so that only the count of touches shows it.
  await idle.touches.touch('lab', { id: 'ada', ageMs: 3 * hourMs }, 'push')
  expect(await idle.activity.cullLab(ask)).toBe('changed')
  expect(await idle.activity.cullLab(await idle.askFor('ada', rule))).toHaveProperty('op')
})

test('an emptied Redis stops nobody before floor and time-out', async () => {
  await usedLab()
  await idle.pass('lab', 'ada', 3 * hourMs)
  await idle.touches.keepAlive('lab', { id: 'ada', podUid }, hourMs)
  const ask = await idle.askFor('ada', rule)
  await idle.store.redis.flushall()
  await idle.store.compare()
  await idle.store.run('ada', podUid)
  expect(await idle.activity.cullLab(ask)).toBe('changed')
  await idle.due.musterLabs(0)
  const now = await idle.nowMs()
  // A replica that still believes what it read before the loss.
  await idle.check('lab', 'ada', { activity: activity({ lastMs: now - 3 * hourMs }) })
  const { floorMs, nowMs } = await idle.activity.read('lab', 'ada', podUid)
  expect(nowMs - floorMs).toBeLessThan(minuteMs)
  expect(await idle.activity.cullLab(await idle.askFor('ada', rule))).toBe('changed')
})
