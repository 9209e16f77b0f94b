/** Touches: uses of a workload, and requests to keep it. */
import { describe, expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import { activity, hourMs, minuteMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const touch = (kind: 'app' | 'lab', id: string, more = {}) =>
  idle().touches.touch(kind, { id, ageMs: 0, ...more }, 'push')

test('touch moves the latest activity on, and never back', async () => {
  await idle().due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  await idle().check('app', 'a', { activity: activity({ lastMs: now - hourMs }) })
  expect(await touch('app', 'a', { ageMs: minuteMs })).toBe('kept')
  expect(await touch('app', 'a', { ageMs: 3 * minuteMs })).toBe('kept')
  const { activity: known, touches } = await idle().activity.read('app', 'a', podUid)
  expect(known!.source).toBe('push')
  expect(known!.lastMs).toBeGreaterThanOrEqual(now - minuteMs)
  expect(known!.lastMs).toBeLessThan(now - minuteMs + 10_000)
  expect(touches).toBe(2)
  await touch('app', 'a', { ageMs: -hourMs })
  const read = await idle().activity.read('app', 'a', podUid)
  expect(read.activity!.lastMs).toBeLessThanOrEqual(read.nowMs)
})

test('a touch before the first check counts for the incarnation that is then seen', async () => {
  await touch('app', 'a')
  expect(await idle().activity.read('app', 'a', podUid)).toMatchObject({ activity: undefined, touches: 1 })
  await idle().due.enrol('app', ['a'], 0)
  const now = await idle().nowMs()
  await idle().check('app', 'a', { activity: activity({ lastMs: now - hourMs }) })
  const { activity: known } = await idle().activity.read('app', 'a', podUid)
  expect(now - known!.lastMs).toBeLessThan(minuteMs)
})

describe('a touch of a lab', () => {
  test('is answered by its record', async () => {
    const { store } = idle()
    expect(await touch('lab', 'ada')).toBe('none')
    const op = await store.create('ada')
    expect(await touch('lab', 'ada')).toBe('kept')
    const { by } = await store.own('ada')
    await store.owners.finish(by, 1, [['complete', 'up']], 'running', { podUid, namespaceUid: 'n', podPresent: true })
    expect(await touch('lab', 'ada')).toBe('kept')
    expect(op).toBe(by.op)
    await store.delete('ada')
    expect(await touch('lab', 'ada')).toBe('stopping')
    expect(await idle().touches.keepAlive('lab', { id: 'ada', podUid }, hourMs)).toBe('stopping')
    await store.create('bob')
    const { by: bob } = await store.own('bob')
    await store.owners.finish(bob, 1, [['failed', 'no']], 'failed', {})
    expect(await touch('lab', 'bob')).toBe('none')
    expect(await idle().known('lab', 'bob')).toEqual({})
  })

  test('is put off while the data are not compared', async () => {
    const { redis, keys } = idle().store
    await redis.hset(keys.generation, 'identity', 'another')
    await expect(touch('lab', 'ada')).rejects.toThrow(RetryLater)
    await expect(idle().touches.keepAlive('lab', { id: 'ada', podUid }, 1)).rejects.toThrow(RetryLater)
    expect(await touch('app', 'a')).toBe('kept')
  })

  test('forgets a former incarnation, and its request to stop', async () => {
    await idle().idleLab('ada')
    expect(await idle().activity.cullLab(await idle().askFor('ada'))).toHaveProperty('op')
    const { store } = idle()
    const { by } = await store.own('ada')
    await store.owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
    await store.run('ada', 'next')
    expect(await touch('lab', 'ada')).toBe('kept')
    expect(Object.keys(await idle().known('lab', 'ada')).sort()).toEqual(
      ['stop', 'stopScore', 'stopped', 'touched', 'touchedBy', 'touches'].sort(),
    )
  })
})

describe('keepAlive', () => {
  test('grants a time up to the greatest age, and can be taken back', async () => {
    const now = await idle().nowMs()
    const { touches } = idle()
    const granted = (await touches.keepAlive('app', { id: 'a', podUid }, hourMs)) as { untilMs: number }
    expect(granted.untilMs).toBeGreaterThanOrEqual(now + hourMs)
    expect(await touches.keepAlive('app', { id: 'a', podUid }, hourMs, now + 7)).toEqual({ untilMs: now + 7 })
    expect((await idle().activity.find('app', ['a']))[0]!.keepMs).toBe(now + 7)
    expect(await touches.endKeepAlive('app', { id: 'a', podUid })).toBe('kept')
    expect((await idle().activity.find('app', ['a']))[0]!.keepMs).toBe(0)
  })

  test('stands when it comes during a check, and so does its end', async () => {
    await idle().due.enrol('app', ['a'], 0)
    await idle().check('app', 'a')
    const taken = await idle().take('app', 'a')
    const { untilMs } = (await idle().touches.keepAlive('app', { id: 'a', podUid }, hourMs)) as { untilMs: number }
    await idle().end('app', taken)
    expect((await idle().activity.read('app', 'a', podUid)).activity!.keepMs).toBe(untilMs)
    const again = await idle().take('app', 'a')
    await idle().touches.endKeepAlive('app', { id: 'a', podUid })
    await idle().end('app', again, { activity: activity({ keepMs: untilMs }) })
    expect((await idle().activity.read('app', 'a', podUid)).activity!.keepMs).toBe(0)
  })

  test('of a new incarnation stands before its first check, that of a former one does not', async () => {
    await idle().due.enrol('app', ['a'], 0)
    await idle().check('app', 'a', { activity: activity({ podUid: 'former' }) })
    await idle().touches.keepAlive('app', { id: 'a', podUid: 'former' }, 3 * hourMs)
    const { untilMs } = (await idle().touches.keepAlive('app', { id: 'a', podUid }, hourMs)) as { untilMs: number }
    await idle().check('app', 'a')
    expect((await idle().activity.read('app', 'a', podUid)).activity!.keepMs).toBe(untilMs)
    await idle().check('app', 'a', { activity: activity({ podUid: 'next' }) })
    expect((await idle().activity.read('app', 'a', 'next')).activity!.keepMs).toBe(0)
  })
})
