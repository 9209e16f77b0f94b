/** The stop of a workload that is no lab: the intent, who is told of it, and what becomes of it when it is not carried out. */
import { describe, expect, test } from 'vitest'
import type { StopRequest } from '../../../src/store/idle.ts'
import { activity, hourMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()

describe('requestStop', () => {
  async function idleApp() {
    await idle().due.enrol('app', ['a'], 0)
    const now = await idle().nowMs()
    await idle().check('app', 'a', { activity: activity({ lastMs: now, warnedMs: now }) })
    await idle().pass('app', 'a', 2 * hourMs)
    const { score } = await idle().take('app', 'a')
    return { kind: 'app' as const, ...idle().ask('a', score, await idle().activity.read('app', 'a', podUid)) }
  }
  const touch = () => idle().touches.touch('app', { id: 'a', ageMs: 0 }, 'push')

  test('marks the intent, so that who comes later is told', async () => {
    const ask = await idleApp()
    for (let i = 0; i < 2; i++) expect(await idle().activity.requestStop(ask)).toBe('requested')
    expect(await touch()).toBe('stopping')
    expect(await idle().touches.keepAlive('app', { id: 'a', podUid }, hourMs)).toBe('stopping')
    await idle().due.dismiss('app', 'a')
    const [found] = await idle().activity.find('app', ['a'])
    expect(found).toMatchObject({ activity: undefined, stoppingMs: 0, stopped: { words: ask.words } })
    expect(await touch()).toBe('kept')
  })

  test('is told once, when it is carried out', async () => {
    const ask = await idleApp()
    await idle().activity.requestStop(ask)
    await idle().activity.tellStop({ ...ask, score: 'former' })
    expect(await idle().told()).toEqual([])
    for (let i = 0; i < 2; i++) await idle().activity.tellStop(ask)
    await idle().due.dismiss('app', 'a')
    expect(await idle().told()).toEqual(['stopping a'])
  })

  test('is told by the end of its checks when its taker did not tell it', async () => {
    await idle().activity.requestStop(await idleApp())
    for (let i = 0; i < 2; i++) await idle().due.dismiss('app', 'a')
    expect(await idle().told()).toEqual(['stopping a'])
  })

  test.each([
    ['it is withdrawn', (ask: StopRequest) => idle().activity.withdrawStop(ask)],
    ['the next check finds it running', () => idle().check('app', 'a')],
  ])('is never told when %s', async (_, happens) => {
    const ask = await idleApp()
    await idle().activity.requestStop(ask)
    await happens(ask)
    await idle().activity.tellStop(ask)
    await idle().due.dismiss('app', 'a')
    expect(await idle().told()).toEqual([])
  })

  test('is refused when somebody came first', async () => {
    const ask = await idleApp()
    expect(await touch()).toBe('kept')
    expect(await idle().activity.requestStop(ask)).toBe('changed')
    expect(await idle().activity.requestStop({ ...ask, expectedMs: ask.expectedMs + hourMs })).toBe('clock')
  })

  test('is forgotten by the next check when its taker did not carry it out', async () => {
    await idle().activity.requestStop(await idleApp())
    await idle().check('app', 'a')
    expect(await touch()).toBe('kept')
    expect((await idle().activity.find('app', ['a']))[0]).toMatchObject({ stopped: undefined, stoppingMs: 0 })
  })

  test('takes no place of the fuse any more when it is withdrawn, and tells nobody that it stops', async () => {
    const ask = await idleApp()
    expect(await idle().activity.requestStop(ask)).toBe('requested')
    await idle().activity.withdrawStop({ ...ask, score: 'former' })
    expect(await idle().store.redis.zcard(idle().store.keys.activityStops('app'))).toBe(1)
    expect(await touch()).toBe('stopping')
    for (let i = 0; i < 2; i++) await idle().activity.withdrawStop(ask)
    expect(await idle().store.redis.zcard(idle().store.keys.activityStops('app'))).toBe(0)
    expect(await touch()).toBe('kept')
    expect((await idle().activity.find('app', ['a']))[0]).toMatchObject({ stopped: undefined, stoppingMs: 0 })
  })

  test('is held by the fuse of its kind', async () => {
    const ask = await idleApp()
    const { redis, keys } = idle().store
    await redis.zadd(keys.activityStops('lab'), await idle().nowMs(), 'x')
    await redis.zadd(keys.activityStops('app'), await idle().nowMs(), 'x')
    expect(await idle().activity.requestStop({ ...ask, stopsPerMinute: 1 })).toBe('held')
    expect(await idle().activity.requestStop({ ...ask, stopsPerMinute: 2 })).toBe('requested')
  })
})

describe('the stop of a notebook that does not answer', () => {
  /** One notebook of the namespace `own`, silent for two hours. */
  async function silentOne() {
    const id = 'own/silent'
    await idle().due.enrol('notebook', [id], 0)
    const now = await idle().nowMs()
    const silent = { lastMs: now, failures: 3, unreachableMs: now, warnedMs: now }
    await idle().check('notebook', id, { activity: activity(silent) })
    await idle().pass('notebook', id, 2 * hourMs)
    const { score } = await idle().take('notebook', id)
    const ask = idle().ask(id, score, await idle().activity.read('notebook', id, podUid))
    return { kind: 'notebook' as const, ...ask, why: 'unreachable' as const }
  }
  /** Other notebooks of a namespace. */
  async function add(namespace: string, answering: number, silent: number) {
    const { redis, keys } = idle().store
    const members = (what: string, count: number) =>
      Array.from({ length: count }, (_, i) => [1, `${namespace}/${what}${i}`]).flat()
    if (answering > 0) await redis.zadd(keys.due('notebook'), ...members('a', answering))
    if (silent > 0) await redis.zadd(keys.dueSlow('notebook'), ...members('s', silent))
  }

  test.each<[string, 'requested' | 'held', readonly (readonly [string, number, number])[]]>([
    [
      'is requested when thousands of another namespace are silent',
      'requested',
      [
        ['own', 9, 0],
        ['flood', 0, 2000],
      ],
    ],
    ['is held when many of the only namespace are', 'held', [['own', 2, 1]]],
    [
      'is requested when all of its own namespace are, and the only other one answers',
      'requested',
      [
        ['own', 0, 9],
        ['other', 8, 2],
      ],
    ],
    [
      'is held when over a fifth of the only other namespace are',
      'held',
      [
        ['own', 0, 9],
        ['other', 7, 2],
      ],
    ],
    [
      'is held when all other namespaces are silent',
      'held',
      [
        ['own', 9, 0],
        ['b', 0, 1],
        ['c', 0, 1],
        ['d', 0, 1],
      ],
    ],
    [
      'is held when nothing answers',
      'held',
      [
        ['own', 0, 9],
        ['b', 0, 1],
      ],
    ],
    [
      'is requested when its own of five namespaces is silent',
      'requested',
      [
        ['b', 1, 0],
        ['c', 1, 0],
        ['d', 1, 0],
        ['e', 1, 0],
      ],
    ],
    [
      'is requested when its own of four is',
      'requested',
      [
        ['b', 1, 0],
        ['c', 1, 0],
        ['d', 1, 0],
      ],
    ],
    [
      'is held when its own and one more of four are',
      'held',
      [
        ['b', 1, 0],
        ['c', 1, 0],
        ['d', 0, 1],
      ],
    ],
  ])('%s', async (_, expected, others) => {
    const ask = await silentOne()
    for (const other of others) await add(...other)
    expect(await idle().activity.requestStop(ask)).toBe(expected)
  })
})
